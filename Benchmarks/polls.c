// Measures how long notifications take: holds a long poll on each of many connections, saves a record, and notes when each
// poll is answered. One JSON line.
//
//   polls --port P --polls FILE --save PATH --body TEXT [--rounds N] [--settle MS]
//
// FILE has a path to poll at on each line. <<round>> in TEXT is the number of the round. A latency runs from before the
// save is sent until the poll's answer is whole. A poll that was answered is sent again; the next round begins when all
// have been, and MS milliseconds later, so that all of them wait.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST_POLLS = 20000, PATIENCE = 20000 };

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "polls: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1000 + (double)time.tv_nsec / 1e6;
}

// One connection with a poll on it.
struct poll {
    int connection;
    char *path;
    size_t length;
    int is_answered;
    char answer[8192];
};

static int port, rounds = 5, settle = 500, count;
static const char *save_path, *body;
static struct poll *polls[MOST_POLLS];

static int connect_to_server(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (server < 0) die("socket: %s", strerror(errno));
    if (connect(server, (struct sockaddr *)&address, sizeof address) != 0) die("port %d: %s", port, strerror(errno));
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return server;
}

static void send_all(int server, const char *bytes, int length) {
    for (int sent = 0; sent < length;) {
        ssize_t done = send(server, bytes + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (done <= 0) die("sending: %s", strerror(errno));
        sent += (int)done;
    }
}

static void send_poll(struct poll *poll) {
    char request[4096];
    int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", poll->path, port);
    if (length < 0 || (size_t)length >= sizeof request) die("a poll's path is too long");
    poll->length = 0;
    poll->is_answered = 0;
    send_all(poll->connection, request, length);
}

static void send_save(int server, int round) {
    static char content[32768], request[40000];
    const char *mark = strstr(body, "<<round>>");
    int size = mark ? snprintf(content, sizeof content, "%.*s%d%s", (int)(mark - body), body, round, mark + 9)
                    : snprintf(content, sizeof content, "%s", body);
    int length = snprintf(request, sizeof request,
                          "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
                          "Content-Length: %d\r\n\r\n%s",
                          save_path, port, size, content);
    if (length < 0 || (size_t)length >= sizeof request) die("the save is too long");
    send_all(server, request, length);
}

// Whether an answer is whole; it must be a success.
static int is_whole(const char *answer, size_t length) {
    const char *head_end = memmem(answer, length, "\r\n\r\n", 4);
    if (!head_end) return 0;
    if (strncmp(answer, "HTTP/1.1 200", 12) != 0) die("an answer: %.300s", answer);
    const char *field = strcasestr(answer, "\r\ncontent-length:");
    if (!field || field > head_end) die("an answer without a length: %.300s", answer);
    return length >= (size_t)(head_end - answer) + 4 + strtoull(field + 17, NULL, 10);
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void read_paths(const char *name) {
    FILE *file = fopen(name, "r");
    if (!file) die("%s: %s", name, strerror(errno));
    char line[4096];
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!line[0]) continue;
        if (count == MOST_POLLS) die("more than %d polls", MOST_POLLS);
        polls[count] = calloc(1, sizeof *polls[count]);
        if (!polls[count] || !(polls[count]->path = strdup(line))) die("out of memory");
        count++;
    }
    fclose(file);
    if (count == 0) die("%s has no path to poll at", name);
}

// Takes in what a poll's connection has. Returns whether its answer is whole now.
static int receive(struct poll *poll) {
    size_t room = sizeof poll->answer - 1 - poll->length;
    ssize_t got = recv(poll->connection, poll->answer + poll->length, room, 0);
    if (got <= 0) die("the server closed a poll: %s", got < 0 ? strerror(errno) : "end of stream");
    poll->length += (size_t)got;
    poll->answer[poll->length] = 0;
    if (!is_whole(poll->answer, poll->length)) return 0;
    if (!strstr(poll->answer, "\"ck\"")) die("a poll was answered without a notification: %.500s", poll->answer);
    return 1;
}

// One save. Appends the latency of each poll to `latencies`; returns the save's own.
static double measure(int events, int saver, int round, double *latencies) {
    static char answer[65536];
    size_t length = 0;
    double begin = now(), save = 0;
    int missing = count;
    send_save(saver, round);
    while (missing > 0 || save == 0) {
        struct epoll_event ready[256];
        int found = epoll_wait(events, ready, 256, PATIENCE);
        if (found <= 0) die("%d of %d polls were not answered within %d ms", missing, count, PATIENCE);
        for (int i = 0; i < found; i++) {
            struct poll *poll = ready[i].data.ptr;
            if (!poll) {
                ssize_t got = recv(saver, answer + length, sizeof answer - 1 - length, 0);
                if (got <= 0) die("the server closed the connection of the save");
                length += (size_t)got;
                answer[length] = 0;
                if (!is_whole(answer, length)) continue;
                if (strstr(answer, "serverErrorCode")) die("the save failed: %.500s", answer);
                save = now() - begin;
            } else if (receive(poll) && !poll->is_answered) {
                poll->is_answered = 1;
                *latencies++ = now() - begin;
                missing--;
            }
        }
    }
    return save;
}

int main(int number, char **values) {
    static const struct option known[] = {
        {"port", 1, 0, 'p'}, {"polls", 1, 0, 'f'}, {"save", 1, 0, 's'}, {"body", 1, 0, 'b'}, {"rounds", 1, 0, 'r'},
        {"settle", 1, 0, 'w'}, {0, 0, 0, 0}};
    const char *file = NULL;
    for (int option; (option = getopt_long(number, values, "", known, NULL)) != -1;) {
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'f': file = optarg; break;
        case 's': save_path = optarg; break;
        case 'b': body = optarg; break;
        case 'r': rounds = atoi(optarg); break;
        case 'w': settle = atoi(optarg); break;
        default: return 2;
        }
    }
    if (!port || !file || !save_path || !body || rounds < 1) die("--port, --polls, --save and --body are needed");
    read_paths(file);
    int events = epoll_create1(0), saver = connect_to_server();
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(events, EPOLL_CTL_ADD, saver, &event);
    for (int i = 0; i < count; i++) {
        polls[i]->connection = connect_to_server();
        event.data.ptr = polls[i];
        epoll_ctl(events, EPOLL_CTL_ADD, polls[i]->connection, &event);
    }
    size_t all = (size_t)count * (size_t)rounds;
    double *latencies = malloc(all * sizeof *latencies), slowest_save = 0;
    if (!latencies) die("out of memory");
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++) send_poll(polls[i]);
        usleep((useconds_t)settle * 1000);
        double save = measure(events, saver, round, latencies + (size_t)round * (size_t)count);
        if (save > slowest_save) slowest_save = save;
    }
    qsort(latencies, all, sizeof *latencies, compare);
    printf("{\"polls\": %d, \"rounds\": %d, \"median_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": %.2f, "
           "\"slowest_save_ms\": %.2f}\n",
           count, rounds, latencies[all / 2], latencies[all * 99 / 100], latencies[all - 1], slowest_save);
    return 0;
}
