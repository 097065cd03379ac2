#pragma once
#include <stddef.h>
#include <stdint.h>

/// A page of Documentation that is part of the program. The bytes live as long as it.
typedef struct {
    const uint8_t *bytes;
    size_t count;
} CErrorPage;

/// Documentation/ErrorCodes.md
CErrorPage cerrorpages_codes(void);
/// Documentation/Errors.md
CErrorPage cerrorpages_texts(void);
