// An HTTP/1.1 load generator: N keep-alive connections, each sending its next request when the answer to the last one is
// complete. Every answer is checked; one that is wrong is an error, never a fast success. Reports one JSON line.
//
// What it measures that wrk cannot:
//   - right answers: wrk's C loop counts any 2xx, and a check of the body in its Lua costs more than the request;
//   - saves of records that are new each time, in batches, and lookups of those that were saved, without Lua per request;
//   - exactly N requests, each once, as saving a known number of records needs (wrk runs for a time);
//   - the server's processor time beside the rate (--pid), and the latency of each request from its own sending.
//
//   loadgen --port P --path PATH [--method POST] [--body FILE] [--item FILE --items K]
//           [--connections N] [--seconds S | --requests N] [--warmup S]
//           [--expect TEXT [--expect-count K]] [--refuse TEXT] [--first N] [--keys N] [--pid P] [--label NAME]
//           [--ca FILE]
//
// With --ca the connections speak TLS, and the server's certificate has to be signed by one in FILE. They shake hands
// before the first request is sent.
//
// Marks in PATH and in the files are replaced in every request:
//   <<name>>   the name of the next record, 15 lower-case letters and digits, never the same twice
//   <<seq>>    the number of the record that the last <<name>> named
//   <<pick>>   the name of one of the first --keys records, at random
//   <<random>> a number below 1,000,000; <<random:N>> one below N
//   <<mod:A:N>> the number of the record that the last <<name>> named, times A, modulo N
//   <<items>>  in the body only: the item file K times, with its own marks replaced, separated by commas
//
// An answer is right when its status is 2xx, it holds the --expect text at least --expect-count times (default K), and
// it does not hold the --refuse text.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <fcntl.h>
#include <getopt.h>
#include <gnutls/gnutls.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "loadgen: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// ---- Text that grows

typedef struct {
    char *bytes;
    size_t length, capacity;
} Text;

static void reserve(Text *text, size_t extra) {
    if (text->length + extra <= text->capacity) return;
    text->capacity = (text->length + extra) * 2;
    text->bytes = realloc(text->bytes, text->capacity);
    if (!text->bytes) die("out of memory");
}

static void append(Text *text, const char *bytes, size_t length) {
    reserve(text, length);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

static Text read_file(const char *path) {
    Text text = {0};
    FILE *file = fopen(path, "r");
    if (!file) die("%s: %s", path, strerror(errno));
    size_t count;
    do {
        reserve(&text, 65536);
        count = fread(text.bytes + text.length, 1, 65536, file);
        text.length += count;
    } while (count > 0);
    fclose(file);
    while (text.length > 0 && text.bytes[text.length - 1] == '\n') text.length--;
    return text;
}

// ---- Options

static struct {
    int port, connections, items, expect_count, pid;
    double seconds, warmup;
    uint64_t requests, first, keys;
    const char *method, *expect, *refuse, *label, *ca;
    Text path, body, item;
} options = {.connections = 1, .items = 1, .warmup = 0, .first = 1, .method = "GET", .label = ""};

static void parse_options(int count, char **values) {
    enum { PORT, PATH, METHOD, BODY, ITEM, ITEMS, CONNECTIONS, SECONDS, REQUESTS, WARMUP, EXPECT, EXPECT_COUNT, REFUSE,
           FIRST, KEYS, PID, LABEL, CA };
    static const struct option known[] = {
        {"port", 1, 0, PORT}, {"path", 1, 0, PATH}, {"method", 1, 0, METHOD}, {"body", 1, 0, BODY},
        {"item", 1, 0, ITEM}, {"items", 1, 0, ITEMS}, {"connections", 1, 0, CONNECTIONS},
        {"seconds", 1, 0, SECONDS}, {"requests", 1, 0, REQUESTS}, {"warmup", 1, 0, WARMUP},
        {"expect", 1, 0, EXPECT}, {"expect-count", 1, 0, EXPECT_COUNT}, {"refuse", 1, 0, REFUSE},
        {"first", 1, 0, FIRST}, {"keys", 1, 0, KEYS}, {"pid", 1, 0, PID}, {"label", 1, 0, LABEL},
        {"ca", 1, 0, CA}, {0}};
    int option;
    while ((option = getopt_long(count, values, "", known, NULL)) != -1) {
        switch (option) {
        case PORT: options.port = atoi(optarg); break;
        case PATH: append(&options.path, optarg, strlen(optarg)); break;
        case METHOD: options.method = optarg; break;
        case BODY: options.body = read_file(optarg); break;
        case ITEM: options.item = read_file(optarg); break;
        case ITEMS: options.items = atoi(optarg); break;
        case CONNECTIONS: options.connections = atoi(optarg); break;
        case SECONDS: options.seconds = atof(optarg); break;
        case REQUESTS: options.requests = strtoull(optarg, NULL, 10); break;
        case WARMUP: options.warmup = atof(optarg); break;
        case EXPECT: options.expect = optarg; break;
        case EXPECT_COUNT: options.expect_count = atoi(optarg); break;
        case REFUSE: options.refuse = optarg; break;
        case FIRST: options.first = strtoull(optarg, NULL, 10); break;
        case KEYS: options.keys = strtoull(optarg, NULL, 10); break;
        case PID: options.pid = atoi(optarg); break;
        case LABEL: options.label = optarg; break;
        case CA: options.ca = optarg; break;
        default: exit(2);
        }
    }
    if (!options.port || !options.path.length) die("--port and --path are needed");
    if ((options.seconds > 0) == (options.requests > 0)) die("give either --seconds or --requests");
    if (options.requests && options.warmup > 0) die("--warmup goes with --seconds");
    if (options.connections < 1 || options.items < 1) die("--connections and --items must be positive");
    if (!options.expect_count) options.expect_count = options.items;
}

// ---- Requests

static uint64_t next_record, current_record;
static uint64_t random_state = 0x9E3779B97F4A7C15u;

static uint64_t random_number(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

// A one-to-one scramble, so that names come in no order, like the random names clients make. (MurmurHash3's finaliser.)
static uint64_t scramble(uint64_t number) {
    number ^= number >> 33;
    number *= 0xFF51AFD7ED558CCDu;
    number ^= number >> 33;
    number *= 0xC4CEB9FE1A85EC53u;
    return number ^ (number >> 33);
}

static void append_name(Text *text, uint64_t record) {
    char name[15];
    uint64_t rest = scramble(record);
    for (int i = 14; i >= 0; i--, rest /= 36) name[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36];
    append(text, name, sizeof name);
}

static void expand(Text *out, const Text *template);

static void append_mark(Text *out, const char *mark, size_t length) {
    char number[24];
#define IS(NAME) (length == sizeof(NAME) - 1 && memcmp(mark, NAME, length) == 0)
    if (IS("name")) {
        current_record = next_record++;
        append_name(out, current_record);
    } else if (IS("seq")) {
        append(out, number, (size_t)sprintf(number, "%llu", (unsigned long long)current_record));
    } else if (IS("pick")) {
        if (!options.keys) die("<<pick>> needs --keys");
        append_name(out, 1 + random_number() % options.keys);
    } else if (IS("random")) {
        append(out, number, (size_t)sprintf(number, "%d", (int)(random_number() % 1000000)));
    } else if (length > 7 && memcmp(mark, "random:", 7) == 0) {
        append(out, number, (size_t)sprintf(number, "%llu", (unsigned long long)(random_number() % strtoull(mark + 7, NULL, 10))));
    } else if (length > 4 && memcmp(mark, "mod:", 4) == 0) {
        char *second;
        uint64_t factor = strtoull(mark + 4, &second, 10), modulus = strtoull(second + 1, NULL, 10);
        append(out, number, (size_t)sprintf(number, "%llu", (unsigned long long)(current_record * factor % modulus)));
    } else if (IS("items")) {
        for (int i = 0; i < options.items; i++) {
            if (i > 0) append(out, ",", 1);
            expand(out, &options.item);
        }
    } else {
        die("unknown mark <<%.*s>>", (int)length, mark);
    }
#undef IS
}

static void expand(Text *out, const Text *template) {
    const char *at = template->bytes, *end = at + template->length;
    while (at < end) {
        const char *mark = memmem(at, (size_t)(end - at), "<<", 2);
        const char *close = mark ? memmem(mark, (size_t)(end - mark), ">>", 2) : NULL;
        if (!close) break;
        append(out, at, (size_t)(mark - at));
        append_mark(out, mark + 2, (size_t)(close - mark - 2));
        at = close + 2;
    }
    append(out, at, (size_t)(end - at));
}

static void build_request(Text *request) {
    static Text body;
    body.length = 0;
    expand(&body, &options.body);
    request->length = 0;
    append(request, options.method, strlen(options.method));
    append(request, " ", 1);
    expand(request, &options.path);
    char head[160];
    int length = sprintf(head, " HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n", options.port);
    append(request, head, (size_t)length);
    if (body.length > 0)
        append(request, head, (size_t)sprintf(head, "Content-Length: %zu\r\n", body.length));
    append(request, "\r\n", 2);
    append(request, body.bytes, body.length);
}

// ---- Connections

typedef struct {
    int socket;
    gnutls_session_t tls;  // NULL: plain HTTP.
    bool busy, writing;
    Text request, response;
    size_t sent;
    double started;
    // Of the response: where its body starts (0: head incomplete), its length (-1: chunked), how far chunks were read.
    size_t body_start, chunk_at;
    long long body_length;
    int status;
} Connection;

static int poller;
static struct {
    uint64_t sent, answered, errors, reconnects, capacity, measured;
    uint32_t *microseconds;
    char first_error[300];
} total;

// ---- TLS, where --ca is given

static gnutls_certificate_credentials_t authorities;

static void read_authorities(void) {
    gnutls_certificate_allocate_credentials(&authorities);
    int count = gnutls_certificate_set_x509_trust_file(authorities, options.ca, GNUTLS_X509_FMT_PEM);
    if (count < 1) die("%s has no certificate: %s", options.ca, gnutls_strerror(count));
}

static void shake_hands(Connection *connection) {
    gnutls_init(&connection->tls, GNUTLS_CLIENT);
    gnutls_set_default_priority(connection->tls);
    gnutls_credentials_set(connection->tls, GNUTLS_CRD_CERTIFICATE, authorities);
    gnutls_session_set_verify_cert(connection->tls, "127.0.0.1", 0);
    gnutls_transport_set_int(connection->tls, connection->socket);
    int result;
    do result = gnutls_handshake(connection->tls);
    while (result < 0 && !gnutls_error_is_fatal(result));
    if (result < 0) die("TLS: %s", gnutls_strerror(result));
}

// As send(2) and recv(2), through TLS where the connection has it.
static ssize_t send_bytes(Connection *connection, const char *bytes, size_t length) {
    if (!connection->tls) return send(connection->socket, bytes, length, MSG_NOSIGNAL);
    ssize_t count = gnutls_record_send(connection->tls, bytes, length);
    if (count < 0) errno = gnutls_error_is_fatal((int)count) ? EPROTO : EAGAIN;
    return count < 0 ? -1 : count;
}

static ssize_t receive_bytes(Connection *connection, char *bytes, size_t length) {
    if (!connection->tls) return recv(connection->socket, bytes, length, 0);
    ssize_t count = gnutls_record_recv(connection->tls, bytes, length);
    if (count < 0) errno = gnutls_error_is_fatal((int)count) ? EPROTO : EAGAIN;
    return count < 0 ? -1 : count;
}

static void disconnect(Connection *connection) {
    if (connection->tls) gnutls_deinit(connection->tls);
    connection->tls = NULL;
    close(connection->socket);
}

static void connect_to_server(Connection *connection) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address) != 0)
        die("port %d: %s", options.port, strerror(errno));
    if (authorities) shake_hands(connection);
    fcntl(connection->socket, F_SETFL, O_NONBLOCK);
    int on = 1;
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_ADD, connection->socket, &event);
    connection->writing = false;
}

static void watch_writing(Connection *connection, bool writing) {
    if (connection->writing == writing) return;
    connection->writing = writing;
    struct epoll_event event = {.events = EPOLLIN | (writing ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(poller, EPOLL_CTL_MOD, connection->socket, &event);
}

static void send_more(Connection *connection) {
    while (connection->sent < connection->request.length) {
        ssize_t count = send_bytes(connection, connection->request.bytes + connection->sent,
                                   connection->request.length - connection->sent);
        if (count < 0 && errno == EAGAIN) break;
        if (count < 0) die("sending: %s", strerror(errno));
        connection->sent += (size_t)count;
    }
    watch_writing(connection, connection->sent < connection->request.length);
}

static void start_request(Connection *connection) {
    build_request(&connection->request);
    connection->response.length = 0;
    connection->sent = connection->body_start = connection->chunk_at = 0;
    connection->busy = true;
    total.sent++;
    connection->started = now();
    send_more(connection);
}

// The value of a header in the head of the response, or NULL. `name` is given as "\r\nname:".
static const char *header(Connection *connection, const char *name) {
    char *end = connection->response.bytes + connection->body_start - 2, kept = *end;
    *end = 0;
    const char *found = strcasestr(connection->response.bytes, name);
    *end = kept;
    return found ? found + strlen(name) : NULL;
}

static bool read_head(Connection *connection) {
    if (connection->body_start) return true;
    Text *response = &connection->response;
    char *end = memmem(response->bytes, response->length, "\r\n\r\n", 4);
    if (!end) return false;
    connection->body_start = connection->chunk_at = (size_t)(end - response->bytes) + 4;
    // Not with sscanf, which measures the whole answer first.
    const char *status = response->bytes + 9;
    if (strncmp(response->bytes, "HTTP/1.", 7) != 0 || status[-1] != ' ' || !isdigit((unsigned char)*status)) die("not an HTTP answer");
    connection->status = atoi(status);
    const char *length = header(connection, "\r\ncontent-length:");
    if (length)
        connection->body_length = strtoll(length, NULL, 10);
    else if (header(connection, "\r\ntransfer-encoding: chunked"))
        connection->body_length = -1;
    else
        connection->body_length = 0;
    return true;
}

// Takes the chunk heads out of a complete response, so that its body is in one piece.
static void join_chunks(Connection *connection) {
    Text *response = &connection->response;
    size_t from = connection->body_start, to = from;
    for (;;) {
        size_t size = strtoull(response->bytes + from, NULL, 16);
        if (size == 0) break;
        from = (size_t)(strstr(response->bytes + from, "\r\n") - response->bytes) + 2;
        memmove(response->bytes + to, response->bytes + from, size);
        to += size;
        from += size + 2;
    }
    response->length = to;
}

// Walks over the chunks that have arrived. True once the last, empty one was seen.
static bool read_chunks(Connection *connection) {
    const Text *response = &connection->response;
    for (;;) {
        const char *line = response->bytes + connection->chunk_at;
        const char *end = memmem(line, response->length - connection->chunk_at, "\r\n", 2);
        if (!end) return false;
        size_t size = strtoull(line, NULL, 16);
        size_t next = (size_t)(end - response->bytes) + 2 + size + 2;
        if (next > response->length) return false;
        if (size == 0) {
            join_chunks(connection);
            return true;
        }
        connection->chunk_at = next;
    }
}

static bool is_complete(Connection *connection) {
    if (!read_head(connection)) return false;
    if (connection->body_length < 0) return read_chunks(connection);
    return connection->response.length >= connection->body_start + (size_t)connection->body_length;
}

// The places in a block of bytes that are `first` there and `second` in the block at the same distance.
#if defined(__AVX2__)
enum { BLOCK = 32 };
static inline uint32_t places(const char *at, char first, const char *distant, char second) {
    __m256i begins = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)at), _mm256_set1_epi8(first));
    __m256i ends = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)distant), _mm256_set1_epi8(second));
    return (uint32_t)_mm256_movemask_epi8(_mm256_and_si256(begins, ends));
}
#elif defined(__SSE2__)
enum { BLOCK = 16 };
static inline uint32_t places(const char *at, char first, const char *distant, char second) {
    __m128i begins = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)at), _mm_set1_epi8(first));
    __m128i ends = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)distant), _mm_set1_epi8(second));
    return (uint32_t)_mm_movemask_epi8(_mm_and_si128(begins, ends));
}
#endif

// As memmem, at a fraction of its cost: what looking at the answers takes, the server beside it lacks. Places where the
// second and the last but one byte fit are found a block at a time; the outer ones are often quotation marks, which are
// everywhere.
static const char *find(const char *at, const char *end, const char *text, size_t length) {
#ifdef __SSE2__
    if (length > 3) {
        for (; end - at >= (ptrdiff_t)length + BLOCK - 1; at += BLOCK) {
            uint32_t found = places(at + 1, text[1], at + length - 2, text[length - 2]);
            for (; found; found &= found - 1) {
                const char *place = at + __builtin_ctz(found);
                if (!memcmp(place, text, length)) return place;
            }
        }
    }
#endif
    return memmem(at, (size_t)(end - at), text, length);
}

static int occurrences(const Connection *connection, const char *text, int enough) {
    const char *at = connection->response.bytes + connection->body_start;
    const char *end = connection->response.bytes + connection->response.length;
    size_t length = strlen(text);
    int count = 0;
    for (; count < enough && (at = find(at, end, text, length)); at += length) count++;
    return count;
}

static bool is_right(const Connection *connection) {
    if (connection->status < 200 || connection->status > 299) return false;
    if (options.refuse && occurrences(connection, options.refuse, 1)) return false;
    return !options.expect || occurrences(connection, options.expect, options.expect_count) == options.expect_count;
}

static void note_error(const Connection *connection) {
    if (total.errors++ > 0) return;
    size_t length = connection->response.length - connection->body_start;
    snprintf(total.first_error, sizeof total.first_error, "%d %.*s", connection->status,
             (int)(length > 250 ? 250 : length), connection->response.bytes + connection->body_start);
}

static void finish_request(Connection *connection, bool measuring) {
    connection->busy = false;
    total.answered++;
    if (!is_right(connection)) note_error(connection);
    if (measuring) {
        if (total.measured == total.capacity) {
            total.capacity = total.capacity ? total.capacity * 2 : 1 << 16;
            total.microseconds = realloc(total.microseconds, total.capacity * sizeof *total.microseconds);
            if (!total.microseconds) die("out of memory");
        }
        total.microseconds[total.measured++] = (uint32_t)((now() - connection->started) * 1e6);
    }
    if (header(connection, "\r\nconnection: close")) {
        disconnect(connection);
        connect_to_server(connection);
        total.reconnects++;
    }
}

// Reads what arrived. True when the answer is complete.
static bool receive(Connection *connection) {
    for (;;) {
        reserve(&connection->response, 65537);
        ssize_t count = receive_bytes(connection, connection->response.bytes + connection->response.length, 65536);
        if (count < 0 && errno == EAGAIN) return false;
        if (count <= 0) die("the server closed a connection: %s", count < 0 ? strerror(errno) : "end of stream");
        connection->response.length += (size_t)count;
        connection->response.bytes[connection->response.length] = 0;
        if (is_complete(connection)) return true;
    }
}

// ---- Report

// Processor seconds a process has used; 0 when there is none to ask.
static double processor_seconds(int pid) {
    if (!pid) return 0;
    char path[64], line[1024];
    sprintf(path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) die("no process %d", pid);
    fclose(file);
    unsigned long user, system;
    const char *rest = strrchr(line, ')');
    if (!rest || sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
        die("cannot read %s", path);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static int by_value(const void *a, const void *b) {
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static double percentile(double fraction) {
    if (!total.measured) return 0;
    return total.microseconds[(uint64_t)(fraction * (double)(total.measured - 1))] / 1000.0;
}

static void print_string(const char *text) {
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        putchar((unsigned char)*text < 32 ? ' ' : *text);
    }
    putchar('"');
}

static void report(double seconds, double server_seconds) {
    qsort(total.microseconds, total.measured, sizeof *total.microseconds, by_value);
    double rate = seconds > 0 ? (double)total.measured / seconds : 0;
    printf("{\"label\":");
    print_string(options.label);
    printf(",\"connections\":%d,\"seconds\":%.3f,\"requests\":%llu,\"requests_per_second\":%.1f,"
           "\"records_per_second\":%.1f",
           options.connections, seconds, (unsigned long long)total.measured, rate, rate * options.items);
    printf(",\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f", percentile(0.5), percentile(0.9),
           percentile(0.99), percentile(1));
    if (options.pid && total.measured)
        printf(",\"server_us_per_request\":%.1f", server_seconds * 1e6 / (double)total.measured);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf(",\"reconnects\":%llu,\"next\":%llu,\"errors\":%llu", (unsigned long long)total.reconnects,
           (unsigned long long)next_record, (unsigned long long)total.errors);
    if (total.errors) {
        printf(",\"first_error\":");
        print_string(total.first_error);
    }
    printf("}\n");
}

int main(int count, char **values) {
    parse_options(count, values);
    next_record = options.first;
    random_state ^= scramble(options.first + 1);
    poller = epoll_create1(0);
    if (options.ca) read_authorities();

    Connection *connections = calloc((size_t)options.connections, sizeof *connections);
    if (!connections) die("out of memory");
    for (int i = 0; i < options.connections; i++) connect_to_server(&connections[i]);

    double begin = now() + options.warmup, end = begin + options.seconds;
    bool measuring = options.warmup == 0;
    double server_before = processor_seconds(options.pid);
    uint64_t waiting = 0;
    for (int i = 0; i < options.connections; i++) {
        if (options.requests && total.sent >= options.requests) break;
        start_request(&connections[i]);
        waiting++;
    }

    struct epoll_event events[256];
    double finished = begin;
    while (waiting > 0) {
        int ready = epoll_wait(poller, events, 256, 30000);
        if (ready == 0) die("no answer for 30 seconds");
        for (int i = 0; i < ready; i++) {
            Connection *connection = events[i].data.ptr;
            if (!connection->busy) {  // Done, and the server closes what is idle.
                disconnect(connection);
                continue;
            }
            if (events[i].events & EPOLLOUT) send_more(connection);
            if (!(events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) || !receive(connection)) continue;
            // What is still under way when the time is over is awaited, checked, and not counted.
            double time = now();
            bool over = options.requests == 0 && time >= end;
            finish_request(connection, measuring && !over);
            if (!over) finished = time;
            // The clock runs from one answer to another: the first after the warm-up starts it and is not counted.
            if (!measuring && time >= begin) {
                measuring = true;
                begin = time;
                server_before = processor_seconds(options.pid);
            }
            waiting--;
            if (over || (options.requests && total.sent >= options.requests)) continue;
            start_request(connection);
            waiting++;
        }
    }
    report(finished - begin, processor_seconds(options.pid) - server_before);
    return total.errors ? 1 : 0;
}
