import NephosPostgresTesting
import NephosStorage
import Testing

@testable import NephosPostgres

/// One set of tables has the rows of all stores: a statement that names neither an owner nor its store shows others' rows.
@Suite(.overPostgreSQL) struct StatementKeyTests {
    /// Transactions, the counter that only SQLite has, and accounts by their key.
    private let exceptions: Set<SQL> = [
        .savepoint, .releaseSavepoint, .rollbackToSavepoint, .lastSequence, .setLastSequence, .accountByID,
        .markAccountDeleted, .renameAccount,
    ]

    @Test func `every statement binds an owner, an account or its store`() {
        let found = SQL.allCases.filter { sql in
            let text = PostgresSQL.text(sql)
            return !PostgresSQL.needsStore(sql)
                && !text.contains(/[ .(](owner|account) = (\$\d|wanted\.account)/)
                && !text.contains(/INSERT INTO \w+ \((\w+, )?(owner|account)\b/)
        }
        #expect(Set(found).symmetricDifference(exceptions).map { "\($0)" } == [])
    }

    @Test func `keys of two stores differ, and come back as the numbers that they were`() {
        let (first, second) = (StoreNumber(value: 1), StoreNumber(value: 2))
        let half: Int64 = 1 << 39
        for number in [0, 1, -1, 7, half - 1, -half] {
            #expect(first.number(first.key(number)) == number)
            #expect(first.key(number) != second.key(number))
            #expect(first.key(number) >> 40 == 1 && second.key(number) >> 40 == 2)
        }
        #expect(first.key(.min) >> 40 == 1 && first.key(.max) >> 40 == 1)
        #expect(StoreNumber(value: StoreNumber.most).key(.max) > 0)
    }
}
