#include "CErrorPages.h"

// The pages are read where they are, so the command prints what the documentation says. #embed is C23, which clang has in
// all modes.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t codes[] = {
#embed "../../Documentation/ErrorCodes.md"
};
static const uint8_t texts[] = {
#embed "../../Documentation/Errors.md"
};

CErrorPage cerrorpages_codes(void) { return (CErrorPage){codes, sizeof codes}; }
CErrorPage cerrorpages_texts(void) { return (CErrorPage){texts, sizeof texts}; }
