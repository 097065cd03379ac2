#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A parser on loan from a small pool, with the tape of the document it parsed.
typedef struct csimdjson_parser csimdjson_parser;

/// A parsed document. `tape` and `strings` live until `csimdjson_release(parser)`.
/// The tape is simdjson's: one 64-bit word per element, type in the high byte, the payload below it.
typedef struct {
    csimdjson_parser *parser;  // null when there was no memory
    const uint64_t *tape;      // null when `error` is not CSIMDJSON_SUCCESS
    const uint8_t *strings;    // each string: 32-bit length, UTF-8 bytes, NUL
    int32_t error;
} csimdjson_document;

enum {
    CSIMDJSON_SUCCESS = 0,
    CSIMDJSON_NUMBER_ERROR = 9,
    CSIMDJSON_UTF8_ERROR = 10,
    CSIMDJSON_EMPTY = 12,
};

/// The deepest nesting a document may have.
enum { CSIMDJSON_MAX_DEPTH = 64 };

/// Parses `length` bytes; they need no padding and are not needed afterwards. Always pass the result to
/// `csimdjson_release`, whatever its error.
csimdjson_document csimdjson_parse(const uint8_t *bytes, size_t length);

/// Gives the parser back. One that grew large frees its memory instead of waiting for the next document.
void csimdjson_release(csimdjson_parser *parser);

/// simdjson's words for an error code; static memory.
const char *csimdjson_error_message(int32_t error);

/// Writes the shortest decimal that reads back as `value` (finite), always with a fraction or an exponent.
/// `out` has room for 32 bytes. Returns the number of bytes written.
size_t csimdjson_write_double(double value, char *out);

/// Reads all of `length` bytes as a decimal number, which must be finite. Returns whether they are one. Takes a little
/// more than JSON does: the caller knows that they are one of its numbers.
bool csimdjson_read_double(const uint8_t *bytes, size_t length, double *value);

/// Where `text` begins in `bytes` for the first time; null where it does not.
const void *csimdjson_find(const void *bytes, size_t length, const void *text, size_t text_length);

#ifdef __cplusplus
}
#endif
