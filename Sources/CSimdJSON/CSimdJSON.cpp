#include "CSimdJSON.h"

#if !__has_include(<simdjson.h>)
#error "Nephos needs <simdjson.h>. On Debian and Ubuntu: apt-get install libsimdjson-dev"
#endif
#include <simdjson.h>

#include <atomic>
#include <charconv>
#include <cstring>
#include <new>

struct csimdjson_parser {
    simdjson::dom::parser dom;
};

namespace {

static_assert(CSIMDJSON_NUMBER_ERROR == simdjson::NUMBER_ERROR, "simdjson's error codes moved");
static_assert(CSIMDJSON_UTF8_ERROR == simdjson::UTF8_ERROR, "simdjson's error codes moved");
static_assert(CSIMDJSON_EMPTY == simdjson::EMPTY, "simdjson's error codes moved");

// A parser holds about 15 bytes per byte of its capacity: four of these stay under 16 MB.
constexpr size_t largestKeptCapacity = 256 * 1024;
constexpr size_t smallestCapacity = 4 * 1024;

std::atomic<csimdjson_parser *> idle[4];

csimdjson_parser *acquire() noexcept {
    for (auto &slot : idle) {
        if (auto *parser = slot.exchange(nullptr, std::memory_order_acquire)) return parser;
    }
    return new (std::nothrow) csimdjson_parser();
}

// Grows the parser and its document alike, by powers of two up to what is kept.
simdjson::error_code reserve(simdjson::dom::parser &dom, size_t length) noexcept {
    if (dom.capacity() > 0 && dom.capacity() >= length) return simdjson::SUCCESS;
    size_t capacity = smallestCapacity;
    while (capacity < length && capacity < largestKeptCapacity) capacity *= 2;
    if (capacity < length) capacity = length;
    if (auto error = dom.doc.allocate(capacity)) return error;
    return dom.allocate(capacity, CSIMDJSON_MAX_DEPTH);
}

}  // namespace

csimdjson_document csimdjson_parse(const uint8_t *bytes, size_t length) {
    auto *parser = acquire();
    if (!parser) return {nullptr, nullptr, nullptr, simdjson::MEMALLOC};
    auto error = reserve(parser->dom, length);
    if (!error) error = parser->dom.parse(bytes, length, true).error();
    if (error) return {parser, nullptr, nullptr, error};
    return {parser, parser->dom.doc.tape.get(), parser->dom.doc.string_buf.get(), simdjson::SUCCESS};
}

void csimdjson_release(csimdjson_parser *parser) {
    if (!parser) return;
    if (parser->dom.capacity() <= largestKeptCapacity) {
        for (auto &slot : idle) {
            csimdjson_parser *none = nullptr;
            if (slot.compare_exchange_strong(none, parser, std::memory_order_release)) return;
        }
    }
    delete parser;
}

const char *csimdjson_error_message(int32_t error) {
    return simdjson::error_message(static_cast<simdjson::error_code>(error));
}

size_t csimdjson_write_double(double value, char *out) {
    auto end = std::to_chars(out, out + 30, value).ptr;
    auto length = static_cast<size_t>(end - out);
    // "2" would read back as an integer, "-0" without its sign, twenty digits not at all.
    if (!std::memchr(out, '.', length) && !std::memchr(out, 'e', length)) {
        *end++ = '.';
        *end++ = '0';
        length += 2;
    }
    return length;
}

bool csimdjson_read_double(const uint8_t *bytes, size_t length, double *value) {
    auto *begin = reinterpret_cast<const char *>(bytes);
    auto result = std::from_chars(begin, begin + length, *value);
    return result.ec == std::errc() && result.ptr == begin + length;
}

const void *csimdjson_find(const void *bytes, size_t length, const void *text, size_t text_length) {
    // `memmem` takes an instruction for each byte or two. The first two characters are seldom side by side, and the
    // compiler compares many of them at once.
    constexpr size_t block = 128;
    auto *from = static_cast<const char *>(bytes), *end = from + length;
    auto *wanted = static_cast<const char *>(text);
    for (; text_length > 1 && static_cast<size_t>(end - from) >= block + text_length; from += block) {
        unsigned char pairs = 0;
        for (size_t index = 0; index < block; index++) {
            pairs |= (from[index] == wanted[0]) & (from[index + 1] == wanted[1]);
        }
        if (!pairs) continue;
        if (auto *found = memmem(from, block + text_length - 1, text, text_length)) return found;
    }
    return memmem(from, end - from, text, text_length);
}
