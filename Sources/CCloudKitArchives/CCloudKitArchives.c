#include "CCloudKitArchives.h"

// Defined by the Swift module CloudKit.
void cloudkit_register_archived_classes(void);

__attribute__((constructor)) static void register_on_load(void) {
    cloudkit_register_archived_classes();
}
