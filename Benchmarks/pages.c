// Reads a table page by page over libpq, as little as a first sync can do: prepares a statement that gives the rows after a
// number, runs it with the last row's number until a page is empty, and looks at every value. Reports one JSON line.
//
//   pages CONNINFO STATEMENT COLUMN VALUE...    the statement's values, of which $3 is the number that begins as 0;
//                                               COLUMN is the column of the row's number

#include <libpq-fe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static PGresult *check(PGconn *connection, PGresult *result) {
    ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return result;
    fprintf(stderr, "pages: %s", PQerrorMessage(connection));
    exit(2);
}

int main(int count, char **values) {
    if (count < 7) return fprintf(stderr, "pages: CONNINFO STATEMENT COLUMN VALUE...\n"), 2;
    PGconn *connection = PQconnectdb(values[1]);
    if (PQstatus(connection) != CONNECTION_OK) return fprintf(stderr, "pages: %s", PQerrorMessage(connection)), 2;
    PQclear(check(connection, PQprepare(connection, "page", values[2], 0, NULL)));
    int column = atoi(values[3]), parameters = count - 4;
    char position[24] = "0";
    const char *given[16];
    for (int i = 0; i < parameters && i < 16; i++) given[i] = values[4 + i];
    given[2] = position;
    uint64_t rows = 0, bytes = 0, pages = 0, mixed = 0;
    double started = now();
    for (;;) {
        PGresult *page = check(connection, PQexecPrepared(connection, "page", parameters, given, NULL, NULL, 1));
        int found = PQntuples(page);
        pages++;
        if (found == 0) break;
        for (int row = 0; row < found; row++) {
            for (int i = 0; i < PQnfields(page); i++) {
                int length = PQgetlength(page, row, i);
                bytes += (uint64_t)length;
                if (length > 0) mixed += (unsigned char)PQgetvalue(page, row, i)[length - 1];
            }
        }
        uint64_t last;
        memcpy(&last, PQgetvalue(page, found - 1, column), sizeof last);
        snprintf(position, sizeof position, "%llu", (unsigned long long)__builtin_bswap64(last));
        rows += (uint64_t)found;
        PQclear(page);
    }
    double seconds = now() - started;
    printf("{\"rows\":%llu,\"bytes\":%llu,\"pages\":%llu,\"seconds\":%.4f,\"records_per_second\":%.1f,\"mixed\":%llu}\n",
           (unsigned long long)rows, (unsigned long long)bytes, (unsigned long long)pages, seconds,
           (double)rows / seconds, (unsigned long long)mixed);
    return 0;
}
