#include "CWebFiles.h"

// The files are edited as they are; the compiler notes that this source depends on them, so an edit shows after the next
// build. #embed is C23, which clang has in all modes.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t api_js[] = {
#embed "dashboard/api.js"
};
static const uint8_t app_js[] = {
#embed "dashboard/app.js"
};
static const uint8_t charts_js[] = {
#embed "dashboard/charts.js"
};
static const uint8_t devices_js[] = {
#embed "dashboard/devices.js"
};
static const uint8_t dom_js[] = {
#embed "dashboard/dom.js"
};
static const uint8_t faults_js[] = {
#embed "dashboard/faults.js"
};
static const uint8_t index_html[] = {
#embed "dashboard/index.html"
};
static const uint8_t installation_js[] = {
#embed "dashboard/installation.js"
};
static const uint8_t live_js[] = {
#embed "dashboard/live.js"
};
static const uint8_t overview_js[] = {
#embed "dashboard/overview.js"
};
static const uint8_t people_js[] = {
#embed "dashboard/people.js"
};
static const uint8_t names_js[] = {
#embed "dashboard/names.js"
};
static const uint8_t find_js[] = {
#embed "dashboard/find.js"
};
static const uint8_t record_js[] = {
#embed "dashboard/record.js"
};
static const uint8_t records_js[] = {
#embed "dashboard/records.js"
};
static const uint8_t request_js[] = {
#embed "dashboard/request.js"
};
static const uint8_t requests_js[] = {
#embed "dashboard/requests.js"
};
static const uint8_t samples_js[] = {
#embed "dashboard/samples.js"
};
static const uint8_t schema_js[] = {
#embed "dashboard/schema.js"
};
static const uint8_t schematext_js[] = {
#embed "dashboard/schematext.js"
};
static const uint8_t scope_js[] = {
#embed "dashboard/scope.js"
};
static const uint8_t style_css[] = {
#embed "dashboard/style.css"
};
static const uint8_t values_js[] = {
#embed "dashboard/values.js"
};

// CloudKit JS is served in forms that have their first and last lines and share the parts between. The parts are one script
// in the order of the list: they import and export nothing.
static const uint8_t cloudkit_classic[] = {
#embed "cloudkit/classic-begin.js"
    ,
#include "cloudkit/parts.h"
#embed "cloudkit/classic-end.js"
};
static const uint8_t cloudkit_module[] = {
#embed "cloudkit/module-begin.js"
    ,
#include "cloudkit/parts.h"
#embed "cloudkit/module-end.js"
};
static const uint8_t cloudkit_former[] = {
#embed "cloudkit/classic-begin.js"
    ,
#include "cloudkit/parts.h"
#embed "cloudkit/former.js"
    ,
#embed "cloudkit/classic-end.js"
};
// The sheet for sharing, which the others load.
static const uint8_t cloudkit_sheet[] = {
#embed "cloudkit/sheet-begin.js"
    ,
#embed "cloudkit/sharesheet.js"
    ,
#embed "cloudkit/sheet-end.js"
};
static const uint8_t cloudkit_types[] = {
#embed "cloudkit/cloudkit.d.ts"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof bytes}

static const CWebFile dashboard[] = {
    FILE_OF("api.js", api_js),
    FILE_OF("app.js", app_js),
    FILE_OF("charts.js", charts_js),
    FILE_OF("devices.js", devices_js),
    FILE_OF("dom.js", dom_js),
    FILE_OF("faults.js", faults_js),
    FILE_OF("index.html", index_html),
    FILE_OF("installation.js", installation_js),
    FILE_OF("live.js", live_js),
    FILE_OF("overview.js", overview_js),
    FILE_OF("people.js", people_js),
    FILE_OF("find.js", find_js),
    FILE_OF("names.js", names_js),
    FILE_OF("record.js", record_js),
    FILE_OF("records.js", records_js),
    FILE_OF("request.js", request_js),
    FILE_OF("requests.js", requests_js),
    FILE_OF("samples.js", samples_js),
    FILE_OF("schema.js", schema_js),
    FILE_OF("schematext.js", schematext_js),
    FILE_OF("scope.js", scope_js),
    FILE_OF("style.css", style_css),
    FILE_OF("values.js", values_js),
};

CWebFile cwebfiles_dashboard(size_t index) {
    CWebFile none = {NULL, NULL, 0};
    return index < sizeof dashboard / sizeof dashboard[0] ? dashboard[index] : none;
}

static const CWebFile cloudkit[] = {
    FILE_OF("1/cloudkit.js", cloudkit_former),
    FILE_OF("2/cloudkit.js", cloudkit_classic),
    FILE_OF("2/cloudkit.mjs", cloudkit_module),
    FILE_OF("2/cloudkit.d.ts", cloudkit_types),
    FILE_OF("2/sharesheet.js", cloudkit_sheet),
};

CWebFile cwebfiles_cloudkit(size_t index) {
    CWebFile none = {NULL, NULL, 0};
    return index < sizeof cloudkit / sizeof cloudkit[0] ? cloudkit[index] : none;
}
