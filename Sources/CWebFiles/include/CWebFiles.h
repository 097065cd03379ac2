#pragma once
#include <stddef.h>
#include <stdint.h>

/// A file that is part of the program. The bytes live as long as it.
typedef struct {
    const char *name;
    const uint8_t *bytes;
    size_t count;
} CWebFile;

/// Returns the file of the dashboard at an index; an empty one after the last.
CWebFile cwebfiles_dashboard(size_t index);

/// Returns the form of CloudKit JS at an index, named by its release and file name; an empty one after the last.
CWebFile cwebfiles_cloudkit(size_t index);
