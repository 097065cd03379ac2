// The parts of CloudKit JS. They need none of the others as they are read, but for the last: what is alike is together, so that
// the script is small when it is compressed.
#embed "values.js"
    ,
#embed "batch.js"
    ,
#embed "query.js"
    ,
#embed "responses.js"
    ,
#embed "error.js"
    ,
#embed "tokens.js"
    ,
#embed "request.js"
    ,
#embed "signin.js"
    ,
#embed "button.js"
    ,
#embed "assets.js"
    ,
#embed "constants.js"
    ,
#embed "database.js"
    ,
#embed "sheetloader.js"
    ,
#embed "serverkeys.js"
    ,
#embed "notifications.js"
    ,
#embed "container.js"
    ,
#embed "configure.js"
    ,
