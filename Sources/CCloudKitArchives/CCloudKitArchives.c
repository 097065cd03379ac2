#include "CCloudKitArchives.h"
