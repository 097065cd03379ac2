// What the machine itself can do, in the minute of the measurement. Each use prints one JSON line.
//
//   reference disk DIRECTORY SECONDS            4 KiB appended and made durable with fdatasync, one after another
//   reference load FILE ROWS                    fills a database with ROWS records, names in no order
//   reference save FILE full|normal N SECONDS   saves records, N to a transaction, at that `PRAGMA synchronous`
//   reference lookup FILE ROWS SECONDS          reads records by name, at random among the first ROWS
//   reference load-tasks FILE ROWS LISTS        fills a table of tasks in LISTS lists, with an index on (list, rank)
//   reference query FILE LISTS SECONDS          reads the 50 tasks of a list with the highest ranks, of lists chosen at random,
//                                               every column that an answer of Nephos' tells something of
//
// The table has a column for each thing that an answer of Nephos' tells of a record, a unique index on (owner, zone, name)
// and one on (owner, zone, sequence), and in `fields` the same JSON of about 600 bytes that the benchmark's records have.
// Nephos itself keeps most of these columns in one. One thread, prepared statements, write-ahead log: nothing but SQLite
// stands between the loop and the disk.

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void check(int right, const char *what) {
    if (right) return;
    fprintf(stderr, "reference: %s\n", what);
    exit(2);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// ---- Disk

static void disk(const char *directory, double seconds) {
    char path[4096];
    static char block[4096];
    snprintf(path, sizeof path, "%s/fdatasync", directory);
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    check(file >= 0, path);
    memset(block, 'n', sizeof block);
    long count = 0;
    double begin = now(), time;
    do {
        check(write(file, block, sizeof block) == sizeof block && fdatasync(file) == 0, strerror(errno));
        count++;
        time = now();
    } while (time - begin < seconds);
    close(file);
    unlink(path);
    printf("{\"fdatasync_per_second\":%.0f}\n", (double)count / (time - begin));
}

// ---- SQLite

static sqlite3 *database;
static sqlite3_stmt *insert;
static uint64_t record;

static void sql(const char *text) {
    check(sqlite3_exec(database, text, NULL, NULL, NULL) == SQLITE_OK, sqlite3_errmsg(database));
}

static sqlite3_stmt *prepare(const char *text) {
    sqlite3_stmt *statement;
    check(sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK, sqlite3_errmsg(database));
    return statement;
}

static void open_database(const char *path, const char *synchronous) {
    char text[64];
    check(sqlite3_open(path, &database) == SQLITE_OK, sqlite3_errmsg(database));
    sql("PRAGMA journal_mode = WAL");
    snprintf(text, sizeof text, "PRAGMA synchronous = %s", synchronous);
    sql(text);
    sql("CREATE TABLE IF NOT EXISTS record ("
        " owner INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,"
        " sequence INTEGER NOT NULL, deleted INTEGER NOT NULL, created_at INTEGER NOT NULL,"
        " created_by INTEGER NOT NULL, modified_at INTEGER NOT NULL, modified_by INTEGER NOT NULL, parent TEXT,"
        " share TEXT, fields BLOB NOT NULL, PRIMARY KEY (owner, zone, name), UNIQUE (owner, zone, sequence))");
    insert = prepare("INSERT INTO record VALUES (1, 1, ?1, 'Item', ?2, 0, ?3, 1, ?3, 1, NULL, NULL, ?4)");
    sqlite3_stmt *last = prepare("SELECT coalesce(max(sequence), 0) FROM record WHERE owner = 1 AND zone = 1");
    check(sqlite3_step(last) == SQLITE_ROW, sqlite3_errmsg(database));
    record = (uint64_t)sqlite3_column_int64(last, 0);
    sqlite3_finalize(last);
}

// The name of a record: 15 letters and digits in no order (MurmurHash3's finaliser, which is one to one).
static void name_of(uint64_t number, char name[15]) {
    number ^= number >> 33;
    number *= 0xFF51AFD7ED558CCDu;
    number ^= number >> 33;
    number *= 0xC4CEB9FE1A85EC53u;
    number ^= number >> 33;
    for (int i = 14; i >= 0; i--, number /= 36) name[i] = "0123456789abcdefghijklmnopqrstuvwxyz"[number % 36];
}

static void save(void) {
    static char fields[1024], text[251];
    char name[15];
    if (!text[0]) memset(text, 't', sizeof text - 1);
    record++;
    name_of(record, name);
    int length = snprintf(
        fields, sizeof fields,
        "{\"body\":{\"value\":\"%s\",\"type\":\"STRING\"},\"done\":{\"value\":0,\"type\":\"INT64\"},"
        "\"due\":{\"value\":1767323045000,\"type\":\"TIMESTAMP\"},\"folder\":{\"value\":{\"recordName\":"
        "\"folder000000000\",\"action\":\"NONE\"},\"type\":\"REFERENCE\"},\"score\":{\"value\":%d,\"type\":\"INT64\"},"
        "\"tags\":{\"value\":[\"a\",\"b\",\"c\"],\"type\":\"STRING_LIST\"},\"title\":{\"value\":\"Item number %llu\","
        "\"type\":\"STRING\"}}",
        text, (int)(record * 7919 % 1000000), (unsigned long long)record);
    sqlite3_bind_text(insert, 1, name, sizeof name, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 2, (sqlite3_int64)record);
    sqlite3_bind_int64(insert, 3, 1767323045000 + (sqlite3_int64)record);
    sqlite3_bind_blob(insert, 4, fields, length, SQLITE_STATIC);
    check(sqlite3_step(insert) == SQLITE_DONE, sqlite3_errmsg(database));
    sqlite3_reset(insert);
}

static void save_transaction(int count) {
    sql("BEGIN IMMEDIATE");
    for (int i = 0; i < count; i++) save();
    sql("COMMIT");
}

static void saves(int in_transaction, double seconds) {
    uint64_t first = record;
    double begin = now(), time;
    do {
        save_transaction(in_transaction);
        time = now();
    } while (time - begin < seconds);
    printf("{\"records_per_second\":%.1f}\n", (double)(record - first) / (time - begin));
}

static void lookups(uint64_t rows, double seconds) {
    sqlite3_stmt *lookup = prepare(
        "SELECT type, sequence, created_at, modified_at, fields FROM record WHERE owner = 1 AND zone = 1 AND name = ?");
    uint64_t random = 0x9E3779B97F4A7C15u, count = 0;
    double begin = now(), time;
    do {
        for (int i = 0; i < 100; i++, count++) {
            char name[15];
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            name_of(1 + random % rows, name);
            sqlite3_bind_text(lookup, 1, name, sizeof name, SQLITE_STATIC);
            check(sqlite3_step(lookup) == SQLITE_ROW, "a record is missing");
            check(sqlite3_column_bytes(lookup, 4) > 0, "a record is empty");
            sqlite3_reset(lookup);
        }
        time = now();
    } while (time - begin < seconds);
    sqlite3_finalize(lookup);
    printf("{\"records_per_second\":%.1f}\n", (double)count / (time - begin));
}

// ---- Queries

static void load_tasks(uint64_t rows, uint64_t lists) {
    sql("CREATE TABLE task ("
        " owner INTEGER NOT NULL, zone INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,"
        " sequence INTEGER NOT NULL, deleted INTEGER NOT NULL, created_at INTEGER NOT NULL,"
        " created_by INTEGER NOT NULL, modified_at INTEGER NOT NULL, modified_by INTEGER NOT NULL, parent TEXT,"
        " share TEXT, fields BLOB NOT NULL, list TEXT NOT NULL, rank INTEGER NOT NULL,"
        " PRIMARY KEY (owner, zone, name), UNIQUE (owner, zone, sequence))");
    sqlite3_stmt *put = prepare(
        "INSERT INTO task VALUES (1, 1, ?1, 'Task', ?5, 0, 1767323045000, 1, 1767323045000, 1, NULL, NULL, ?4, ?2, ?3)");
    static char fields[1024], text[251];
    memset(text, 't', sizeof text - 1);
    sql("BEGIN IMMEDIATE");
    for (uint64_t seq = 1; seq <= rows; seq++) {
        char name[15], list[32];
        name_of(seq, name);
        sprintf(list, "list%llu", (unsigned long long)(seq % lists));
        int rank = (int)(seq * 7919 % 1000003);
        int length = snprintf(
            fields, sizeof fields,
            "{\"body\":{\"value\":\"%s\",\"type\":\"STRING\"},\"list\":{\"value\":\"%s\",\"type\":\"STRING\"},"
            "\"place\":{\"value\":{\"latitude\":%d.%d,\"longitude\":%d.%d},\"type\":\"LOCATION\"},\"rank\":{\"value\":%d,"
            "\"type\":\"INT64\"},\"title\":{\"value\":\"Task number %llu word%d\",\"type\":\"STRING\"}}",
            text, list, (int)(seq * 7919 % 80), (int)(seq * 104729 % 900001), (int)(seq * 7907 % 170),
            (int)(seq * 104723 % 900007), rank, (unsigned long long)seq, (int)(seq * 31 % 20));
        sqlite3_bind_text(put, 1, name, sizeof name, SQLITE_STATIC);
        sqlite3_bind_text(put, 2, list, -1, SQLITE_STATIC);
        sqlite3_bind_int(put, 3, rank);
        sqlite3_bind_blob(put, 4, fields, length, SQLITE_STATIC);
        sqlite3_bind_int64(put, 5, (sqlite3_int64)seq);
        check(sqlite3_step(put) == SQLITE_DONE, sqlite3_errmsg(database));
        sqlite3_reset(put);
    }
    sqlite3_finalize(put);
    sql("CREATE INDEX task_list_rank ON task (owner, zone, list, rank)");
    sql("COMMIT");
    printf("{\"records\":%llu}\n", (unsigned long long)rows);
}

static void queries(uint64_t lists, double seconds) {
    sqlite3_stmt *query = prepare(
        "SELECT name, type, parent, share, fields, sequence, deleted, created_at, created_by, modified_at, modified_by"
        " FROM task WHERE owner = 1 AND zone = 1 AND list = ? ORDER BY rank DESC LIMIT 50");
    enum { TEXTS = 5, COLUMNS = 11, NAME = 0, FIELDS = 4 };
    volatile sqlite3_int64 sum = 0;  // So that reading a number is not left out.
    uint64_t random = 0x9E3779B97F4A7C15u, count = 0;
    double begin = 0, time;
    do {
        char list[32];
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        // Every list once before: what the system caches is there then, as it is for the servers.
        sprintf(list, "list%llu", (unsigned long long)(count < lists ? count : random % lists));
        sqlite3_bind_text(query, 1, list, -1, SQLITE_STATIC);
        int found = 0;
        while (sqlite3_step(query) == SQLITE_ROW) {
            for (int column = 0; column < COLUMNS; column++) {
                if (column >= TEXTS) {
                    sum += sqlite3_column_int64(query, column);
                } else {
                    const void *bytes = sqlite3_column_blob(query, column);
                    int length = sqlite3_column_bytes(query, column);
                    check((column != NAME && column != FIELDS) || (bytes && length > 0), "a task is empty");
                }
            }
            found++;
        }
        check(found == 50, "a list has too few tasks");
        sqlite3_reset(query);
        count++;
        time = now();
        if (count == lists) begin = time;
    } while (count <= lists || time - begin < seconds);
    sqlite3_finalize(query);
    printf("{\"requests_per_second\":%.1f}\n", (double)(count - lists) / (time - begin));
}

int main(int count, char **values) {
    const char *what = count > 1 ? values[1] : "";
    if (!strcmp(what, "disk") && count == 4) {
        disk(values[2], atof(values[3]));
    } else if (!strcmp(what, "load") && count == 4) {
        open_database(values[2], "NORMAL");
        for (long rows = atol(values[3]); rows > 0; rows -= 400) save_transaction(rows < 400 ? (int)rows : 400);
        printf("{\"records\":%llu}\n", (unsigned long long)record);
    } else if (!strcmp(what, "save") && count == 6) {
        open_database(values[2], values[3]);
        saves(atoi(values[4]), atof(values[5]));
    } else if (!strcmp(what, "lookup") && count == 5) {
        open_database(values[2], "NORMAL");
        lookups(strtoull(values[3], NULL, 10), atof(values[4]));
    } else if (!strcmp(what, "load-tasks") && count == 5) {
        open_database(values[2], "NORMAL");
        load_tasks(strtoull(values[3], NULL, 10), strtoull(values[4], NULL, 10));
    } else if (!strcmp(what, "query") && count == 5) {
        open_database(values[2], "NORMAL");
        queries(strtoull(values[3], NULL, 10), atof(values[4]));
    } else {
        fprintf(stderr, "usage: see the head of reference.c\n");
        return 2;
    }
    if (database) {
        sqlite3_finalize(insert);
        sqlite3_close(database);
    }
}
