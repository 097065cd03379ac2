import CloudKit

// The forms in which apps were seen to write predicates, and every form that CKQuery documents, on a shelf of fruit.

enum FruitState: Int {
    case fresh, bought
    case eaten = 3
}

/// Records that each form matches some of: two lists, and five pieces of fruit, the last without any field.
struct FruitShelf {
    let zoneID = CKRecordZone.ID(zoneName: "Shelf")
    let inbox: CKRecord
    let later: CKRecord
    let fruit: [CKRecord]
    static let berlin = CLLocation(latitude: 52.52, longitude: 13.405)
    static let dates = [100, 150, 400, 1_000].map { Date(timeIntervalSince1970: $0) }

    init() {
        inbox = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "inbox", zoneID: zoneID))
        later = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "later", zoneID: zoneID))
        let names = ["apple", "apricot", "banana", "cherry", "bare"]
        let zoneID = zoneID
        fruit = names.map {
            CKRecord(recordType: "Fruit", recordID: CKRecord.ID(recordName: $0, zoneID: zoneID))
        }
        let states: [FruitState] = [.fresh, .bought, .bought, .eaten]
        let ratios = [0.5, 1.5, 2.5, -1]
        let tags = [["red", "sweet"], ["orange", "sweet"], ["yellow"], []]
        let sizes = [[1, 2], [2, 3], [], [9]]
        let notes = ["Bob Smith ate it", "Smith & Wesson", "jolly BOB", "Nothing here"]
        for (index, record) in fruit.dropLast().enumerated() {
            record["name"] = ["Apple", "apricot", "Banana", "cherry"][index]
            record["state"] = states[index].rawValue
            record["ratio"] = ratios[index]
            record["isDone"] = index == 0 || index == 3
            record["start"] = Self.dates[index]
            record["end"] = Self.dates[index].addingTimeInterval(100)
            record["tags"] = tags[index]
            record["sizes"] = sizes[index]
            record["notes"] = notes[index]
        }
        let (apple, apricot, banana) = (fruit[0], fruit[1], fruit[2])
        apple["owningList"] = CKRecord.Reference(record: inbox, action: .deleteSelf)
        apricot["owningList"] = CKRecord.Reference(record: later, action: .deleteSelf)
        banana["owningList"] = CKRecord.Reference(record: inbox, action: .none)
        apple["lists"] = [inbox, later].map { CKRecord.Reference(record: $0, action: .none) }
        apricot["lists"] = [CKRecord.Reference(record: later, action: .none)]
        apple.parent = CKRecord.Reference(record: inbox, action: .none)
        apricot.setParent(later)
        apple["place"] = Self.berlin
        apricot["place"] = CLLocation(latitude: 52.39, longitude: 13.06)
        banana["place"] = CLLocation(latitude: 48.14, longitude: 11.58)
    }
}

/// A predicate, and the names of the fruit that it matches.
struct QueryForm {
    let label: String
    let predicate: NSPredicate
    let matches: [String]

    init(_ label: String, _ predicate: NSPredicate, _ matches: String...) {
        (self.label, self.predicate, self.matches) = (label, predicate, matches)
    }
}

extension NSPredicate {
    /// An app's shorthand, with the arguments that Apple's initialisers take.
    static func app(_ format: String, _ arguments: CVarArg...) -> NSPredicate {
        NSPredicate(format: format, argumentArray: arguments)
    }
}

extension FruitShelf {
    /// As apps write them.
    var formsOfApps: [QueryForm] {
        let status = "state"
        let (early, late) = (Self.dates[1], Self.dates[1])
        let ids = [fruit[0], fruit[3]].map(\.recordID)
        let references = ids.map { CKRecord.Reference(recordID: $0, action: .none) }
        let listKey = "owningList"
        let isBought = NSPredicate(format: "state == %d", FruitState.bought.rawValue)
        let isInInbox = NSPredicate(format: "owningList == %@", inbox.recordID)
        return [
            QueryForm("%ld", NSPredicate(format: "state == %ld", FruitState.bought.rawValue), "apricot", "banana"),
            QueryForm("%lud", NSPredicate(format: "state == %lud", FruitState.eaten.rawValue), "cherry"),
            QueryForm("%i", NSPredicate(format: "%K = %i", status, 0), "apple"),
            QueryForm("%@ with a number", NSPredicate(format: "state == %@", NSNumber(value: 3)), "cherry"),
            QueryForm("%@ with an Int", NSPredicate(format: "state == %@", 3 as CVarArg), "cherry"),
            QueryForm(
                "dates as CVarArg",
                NSPredicate(format: "start >= %@ AND start <= %@", early as CVarArg, late as CVarArg), "apricot"),
            QueryForm("an ID as CVarArg", NSPredicate(format: "recordID = %@", ids[0] as CVarArg), "apple"),
            QueryForm("IDs as CVarArg", NSPredicate(format: "recordID IN %@", ids as CVarArg), "apple", "cherry"),
            QueryForm("a reference as CVarArg", .app("recordID = %@", references[1]), "cherry"),
            QueryForm("an NSArray as CVarArg", .app("recordName IN %@", ["banana"] as NSArray), "banana"),
            QueryForm("a number and a string as CVarArg", .app("%K == %@", status, NSNumber(value: 3)), "cherry"),
            QueryForm(
                "a place as CVarArg",
                .app("distanceToLocation:fromLocation:(place, %@) < 1000", Self.berlin), "apple"),
            QueryForm("a record", NSPredicate(format: "%K == %@", listKey, inbox), "apple", "banana"),
            QueryForm("a record's ID", NSPredicate(format: "%K == %@", listKey, later.recordID), "apricot"),
            QueryForm(
                "a reference of another action",
                NSPredicate(format: "%K == %@", listKey, CKRecord.Reference(record: inbox, action: .deleteSelf)),
                "apple", "banana"),
            QueryForm("recordID IN references", NSPredicate(format: "recordID IN %@", references), "apple", "cherry"),
            QueryForm("recordID IN IDs", NSPredicate(format: "recordID in %@", ids), "apple", "cherry"),
            QueryForm("recordID == an ID", NSPredicate(format: "recordID == %@", ids[0]), "apple"),
            QueryForm(
                "recordID == a reference", NSPredicate(format: "recordID = %@", references[1]), "cherry"),
            QueryForm("recordName", NSPredicate(format: "recordName = %@", "banana"), "banana"),
            QueryForm(
                "recordName IN", NSPredicate(format: "recordName IN %@", ["banana", "none"]), "banana"),
            QueryForm(
                "a prefix that all begin with", NSPredicate(format: "%K BEGINSWITH ''", "name"),
                "apple", "apricot", "banana", "cherry"),
            QueryForm("BEGINSWITH %@", NSPredicate(format: "name BEGINSWITH %@", "ap"), "apricot"),
            QueryForm("beginswith", NSPredicate(format: "%K beginswith %@", "name", "Ban"), "banana"),
            QueryForm(
                "NOT of a list that contains a field",
                NSPredicate(format: "NOT (%@ CONTAINS name)", ["Apple", "cherry"]), "apricot", "banana", "bare"),
            QueryForm(
                "a list that contains a field",
                NSPredicate(format: "%@ CONTAINS name", ["Apple", "cherry"]), "apple", "cherry"),
            QueryForm(
                "&& with argumentArray",
                NSPredicate(format: "(start <= %@) && (end >= %@)", argumentArray: [late, early]),
                "apple", "apricot"),
            QueryForm(
                "a radius",
                NSPredicate(
                    format: "distanceToLocation:fromLocation:(%K, %@) < %f", "place", Self.berlin, 50_000.0),
                "apple", "apricot"),
            QueryForm(
                "a radius of a CGFloat",
                NSPredicate(
                    format: "distanceToLocation:fromLocation:(place,%@) < %f", Self.berlin, CGFloat(1_000)),
                "apple"),
            QueryForm(
                "NSCompoundPredicate of a type",
                NSCompoundPredicate(type: .and, subpredicates: [isBought, isInInbox]), "banana"),
            QueryForm(
                "NSCompoundPredicate by AND",
                NSCompoundPredicate(andPredicateWithSubpredicates: [isInInbox, NSPredicate(value: true)]),
                "apple", "banana"),
            QueryForm(
                "NSCompoundPredicate by NOT",
                NSCompoundPredicate(notPredicateWithSubpredicate: isBought), "apple", "cherry", "bare"),
            QueryForm("an empty AND", NSCompoundPredicate(type: .and, subpredicates: []), all),
            QueryForm("in", NSPredicate(format: "state in %@", [0, 3]), "apple", "cherry"),
            QueryForm("and", NSPredicate(format: "state == 1 and ratio > 2"), "banana"),
            QueryForm("not", NSPredicate(format: "not (state in %@)", [0, 1]), "cherry", "bare"),
            QueryForm("true", NSPredicate(format: "isDone == true"), "apple", "cherry"),
            QueryForm("NO", NSPredicate(format: "isDone = NO"), "apricot", "banana"),
            QueryForm("%@ with a Bool", NSPredicate(format: "isDone == %@", false as NSNumber), "apricot", "banana"),
            QueryForm("%d with a Bool", NSPredicate(format: "%K == %d", "isDone", true), "apple", "cherry"),
            QueryForm("a quoted string", NSPredicate(format: "name = \"Apple\""), "apple"),
            QueryForm("an NSString", NSPredicate(format: "name == %@", "Apple" as NSString), "apple"),
            QueryForm("an NSDate", NSPredicate(format: "start > %@", Self.dates[1] as NSDate), "banana", "cherry"),
            QueryForm("an interpolated value", NSPredicate(format: "state == \(3)"), "cherry"),
            QueryForm("self.", NSPredicate(format: "self.state == 3"), "cherry"),
        ]
    }

    private var all: [String] { fruit.map(\.recordID.recordName) }

    /// As the documentation of CKQuery lists them.
    var documentedForms: [QueryForm] {
        equalityForms + orderForms + listForms + searchForms + systemFieldForms
    }

    private var equalityForms: [QueryForm] {
        [
            QueryForm("everything", NSPredicate(value: true), all),
            QueryForm("TRUEPREDICATE", NSPredicate(format: "TRUEPREDICATE"), all),
            QueryForm("nothing", NSPredicate(value: false)),
            QueryForm("FALSEPREDICATE", NSPredicate(format: "FALSEPREDICATE")),
            QueryForm("=", NSPredicate(format: "ratio = 1.5"), "apricot"),
            QueryForm("== ignores case", NSPredicate(format: "name == 'APPLE'"), "apple"),
            QueryForm("!=", NSPredicate(format: "name != 'apple'"), "apricot", "banana", "cherry", "bare"),
            QueryForm("<>", NSPredicate(format: "state <> 1"), "apple", "cherry", "bare"),
            QueryForm("NOT ==", NSPredicate(format: "NOT state == 1"), "apple", "cherry", "bare"),
            QueryForm("IN", NSPredicate(format: "name IN {'Apple', 'CHERRY'}"), "apple", "cherry"),
            QueryForm(
                "ANY of a list = field", NSPredicate(format: "ANY {'Apple', 'cherry'} = name"), "apple", "cherry"),
            QueryForm("an empty list", NSPredicate(format: "name IN %@", [String]())),
            QueryForm("a location", NSPredicate(format: "place == %@", Self.berlin), "apple"),
            QueryForm("a reference", NSPredicate(format: "owningList != %@", inbox), "apricot", "cherry", "bare"),
            QueryForm(
                "references", NSPredicate(format: "owningList IN %@", [inbox, later]), "apple", "apricot", "banana"),
        ]
    }

    private var orderForms: [QueryForm] {
        [
            QueryForm("<", NSPredicate(format: "ratio < 0.5"), "cherry"),
            QueryForm("<=", NSPredicate(format: "ratio <= 0.5"), "apple", "cherry"),
            QueryForm("=<", NSPredicate(format: "ratio =< 0.5"), "apple", "cherry"),
            QueryForm(">", NSPredicate(format: "state > 1"), "cherry"),
            QueryForm(">=", NSPredicate(format: "state >= %d", 1), "apricot", "banana", "cherry"),
            QueryForm("=>", NSPredicate(format: "state => 1"), "apricot", "banana", "cherry"),
            QueryForm("the value first", NSPredicate(format: "1 < state"), "cherry"),
            QueryForm("NOT <", NSPredicate(format: "NOT (state < 1)"), "apricot", "banana", "cherry"),
            QueryForm("strings", NSPredicate(format: "name > 'Banana'"), "apricot", "cherry"),
            QueryForm("BETWEEN", NSPredicate(format: "ratio BETWEEN {0, 1.5}"), "apple", "apricot"),
            QueryForm(
                "BETWEEN %@", NSPredicate(format: "start BETWEEN %@", [Self.dates[1], Self.dates[2]]),
                "apricot", "banana"),
            QueryForm("AND", NSPredicate(format: "state = 1 AND ratio > 2"), "banana"),
            QueryForm(
                "an interval",
                NSPredicate(format: "start >= %@ AND start < %@", Self.dates[0] as NSDate, Self.dates[2] as NSDate),
                "apple", "apricot"),
            QueryForm("BEGINSWITH heeds case", NSPredicate(format: "name BEGINSWITH 'a'"), "apricot"),
            QueryForm(
                "NOT BEGINSWITH", NSPredicate(format: "NOT (name BEGINSWITH 'a')"), "apple", "banana", "cherry", "bare"),
        ]
    }

    private var listForms: [QueryForm] {
        [
            QueryForm("CONTAINS", NSPredicate(format: "tags CONTAINS 'sweet'"), "apple", "apricot"),
            QueryForm("%K CONTAINS %@", NSPredicate(format: "%K CONTAINS %@", "tags", "RED"), "apple"),
            QueryForm("a number", NSPredicate(format: "sizes CONTAINS %d", 2), "apple", "apricot"),
            QueryForm("value IN list", NSPredicate(format: "'yellow' IN tags"), "banana"),
            QueryForm("%@ IN %K", NSPredicate(format: "%@ IN %K", "red", "tags"), "apple"),
            QueryForm("ANY =", NSPredicate(format: "ANY tags = 'sweet'"), "apple", "apricot"),
            QueryForm("SOME =", NSPredicate(format: "SOME tags = 'sweet'"), "apple", "apricot"),
            QueryForm("ANY BEGINSWITH", NSPredicate(format: "ANY tags BEGINSWITH 'ora'"), "apricot"),
            QueryForm("ANY IN", NSPredicate(format: "ANY tags IN %@", ["red", "yellow"]), "apple", "banana"),
            QueryForm(
                "NOT CONTAINS", NSPredicate(format: "NOT (tags CONTAINS 'sweet')"), "banana", "cherry", "bare"),
            QueryForm(
                "several", NSPredicate(format: "tags CONTAINS 'sweet' AND tags CONTAINS 'orange'"), "apricot"),
            QueryForm("a record", NSPredicate(format: "lists CONTAINS %@", inbox), "apple"),
            QueryForm(
                "a reference",
                NSPredicate(format: "%K CONTAINS %@", "lists", CKRecord.Reference(record: later, action: .deleteSelf)),
                "apple", "apricot"),
            QueryForm("a field that nobody has", NSPredicate(format: "tags CONTAINS 'none'")),
        ]
    }

    private var searchForms: [QueryForm] {
        [
            QueryForm("any word", NSPredicate(format: "self CONTAINS 'bob smith'"), "apple", "apricot", "banana"),
            QueryForm(
                "every word", NSPredicate(format: "self CONTAINS 'bob' AND self CONTAINS 'smith'"), "apple"),
            QueryForm("%K is self", NSPredicate(format: "%K CONTAINS %@", "self", "wesson"), "apricot"),
            QueryForm("a word of another field", NSPredicate(format: "self CONTAINS %@", "CHERRY"), "cherry"),
            QueryForm("a part of a word", NSPredicate(format: "self CONTAINS %@", "cher")),
            QueryForm("TOKENMATCHES", NSPredicate(format: "allTokens TOKENMATCHES[cdl] %@", "smith BOB"), "apple"),
            QueryForm(
                "tokenize", NSPredicate(format: "allTokens TOKENMATCHES tokenize(%@, 'Cdl')", "jolly"), "banana"),
            QueryForm(
                "distance", NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) <= 1000", Self.berlin),
                "apple"),
            QueryForm(
                "distance and more",
                NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < 600000 AND state = 1", Self.berlin),
                "apricot", "banana"),
        ]
    }

    private var systemFieldForms: [QueryForm] {
        let yesterday = Date(timeIntervalSinceNow: -86_400)
        let share = CKRecord.Reference(recordID: CKRecord.ID(recordName: "share", zoneID: zoneID), action: .none)
        let parent = CKRecord.SystemFieldKey.parent
        return [
            QueryForm("creationDate", NSPredicate(format: "creationDate > %@", yesterday as NSDate), all),
            QueryForm("creationDate, never", NSPredicate(format: "creationDate < %@", yesterday as NSDate)),
            QueryForm("modificationDate", NSPredicate(format: "modificationDate <= now()"), all),
            QueryForm(
                "the key of creationDate",
                NSPredicate(format: "%K > %@", CKRecord.SystemFieldKey.creationDate, yesterday as NSDate), all),
            QueryForm("now", NSPredicate(format: "start < now() AND state = 3"), "cherry"),
            QueryForm("parent", NSPredicate(format: "%K == %@", parent, inbox.recordID), "apple"),
            QueryForm("___parent", NSPredicate(format: "___parent = %@", later), "apricot"),
            QueryForm(
                "parents",
                NSPredicate(
                    format: "%K IN %@", parent, [inbox, later].map { CKRecord.Reference(record: $0, action: .none) }),
                "apple", "apricot"),
            QueryForm("share", NSPredicate(format: "%K == %@", CKRecord.SystemFieldKey.share, share)),
            QueryForm(
                "the key of recordID",
                NSPredicate(format: "%K == %@", CKRecord.SystemFieldKey.recordID, fruit[3].recordID), "cherry"),
            QueryForm("___recordID", NSPredicate(format: "___recordID IN %@", [fruit[1].recordID]), "apricot"),
            QueryForm(
                "NOT recordID IN", NSPredicate(format: "NOT (recordID IN %@)", fruit.dropLast().map(\.recordID)), "bare"
            ),
        ]
    }

    /// What CKQuery does not take.
    var refusedForms: [NSPredicate] {
        [
            NSPredicate(format: "state == 1 OR state == 3"),
            NSCompoundPredicate(
                type: .or, subpredicates: [NSPredicate(format: "state == 1"), NSPredicate(format: "state == 3")]),
            NSPredicate(format: "NOT (state == 1 AND ratio > 2)"), NSPredicate(format: "NOT (ratio BETWEEN {0, 1})"),
            NSPredicate(format: "NOT (self CONTAINS 'bob')"), NSPredicate(format: "name CONTAINS 'app'"),
            NSPredicate(format: "name ENDSWITH 'le'"), NSPredicate(format: "name LIKE 'a*'"),
            NSPredicate(format: "name MATCHES 'a.*'"), NSPredicate(format: "name BEGINSWITH[c] 'a'"),
            NSPredicate(format: "ALL tags = 'red'"), NSPredicate(format: "NONE tags = 'red'"),
            NSPredicate(format: "owningList.name == 'x'"), NSPredicate(format: "name == nil"),
            NSPredicate(format: "name != nil"), NSPredicate(format: "name == notes"),
            NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) > 1000", Self.berlin),
            NSPredicate(format: "state == 'one'"), NSPredicate(format: "name == 1"),
            NSPredicate { _, _ in true },
        ]
    }
}

extension QueryForm {
    fileprivate init(_ label: String, _ predicate: NSPredicate, _ matches: [String]) {
        (self.label, self.predicate, self.matches) = (label, predicate, matches)
    }
}
