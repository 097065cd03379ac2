// The parts of CloudKit JS, in order.
#embed "constants.js"
    ,
#embed "error.js"
    ,
#embed "responses.js"
    ,
#embed "values.js"
    ,
#embed "request.js"
    ,
#embed "tokens.js"
    ,
#embed "button.js"
    ,
#embed "signin.js"
    ,
#embed "serverkeys.js"
    ,
#embed "assets.js"
    ,
#embed "query.js"
    ,
#embed "batch.js"
    ,
#embed "database.js"
    ,
#embed "sheetloader.js"
    ,
#embed "notifications.js"
    ,
#embed "container.js"
    ,
#embed "configure.js"
    ,
