// The least that a server can do: one thread that waits with epoll and answers whatever arrives with the same bytes, which
// look like a record. What it reaches is what HTTP over loopback allows on the machine; at one client that is mostly the
// kernel waking processors that have nothing to do.
//
//   floor PORT
//
// It takes each read for one request, as the load generator sends each in one write.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BODY = 700, EVENTS = 64 };

static int fail(const char *call) {
    perror(call);
    return 1;
}

static int watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void accept_one(int epoll, int listener) {
    int connection = accept(listener, NULL, NULL), on = 1;
    if (connection < 0) return;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (watch(epoll, connection) < 0) close(connection);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "floor PORT\n");
        return 2;
    }
    int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), on = 1;
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(atoi(arguments[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) < 0) return fail("bind");
    if (listen(listener, 128) < 0) return fail("listen");
    if (epoll < 0 || watch(epoll, listener) < 0) return fail("epoll");

    char answer[BODY + 128], request[65536];
    int size = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", BODY);
    memset(answer + size, ' ', BODY);
    memcpy(answer + size, "{\"records\":[{\"title\":\"Item number\"}]}", 37);
    size += BODY;
    for (;;) {
        struct epoll_event events[EVENTS];
        int ready = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            int descriptor = events[i].data.fd;
            if (descriptor == listener) {
                accept_one(epoll, listener);
            } else if (recv(descriptor, request, sizeof request, 0) <= 0
                       || send(descriptor, answer, size, MSG_NOSIGNAL) < size) {
                close(descriptor);
            }
        }
    }
}
