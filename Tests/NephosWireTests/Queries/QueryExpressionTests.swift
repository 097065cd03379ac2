import NephosTesting
import NephosWire
import Testing

@Suite("Conditions as trees")
struct QueryExpressionTests {
    private let a = Filter(.field("a"), .equals, .int64(1))
    private let b = Filter(.field("b"), .lessThan, .int64(2))

    @Test func `the conjunctive subset is what filterBy can express`() {
        #expect(QueryExpression.all.conjunctiveFilters == [])
        #expect(QueryExpression.none.conjunctiveFilters == [.matchesNothing])
        #expect(QueryExpression.and([.filter(a), .and([.filter(b), .all])]).conjunctiveFilters == [a, b])
        #expect(QueryExpression.not(.filter(a)).conjunctiveFilters == [Filter(.field("a"), .notEquals, .int64(1))])
        #expect(QueryExpression.not(.filter(b)).conjunctiveFilters == nil)
        #expect(QueryExpression.or([.filter(a), .filter(b)]).conjunctiveFilters == nil)
        #expect(QueryExpression.or([.filter(a), .none]).conjunctiveFilters == [a])
        #expect(QueryExpression.and([.filter(a), .none]).conjunctiveFilters == [.matchesNothing])
    }

    @Test func `normal form is flat and has negations only at filters`() {
        let expression = QueryExpression.not(.and([.filter(a), .or([.filter(b), .not(.filter(a))]), .filter(a)]))
        let notA = QueryExpression.filter(Filter(.field("a"), .notEquals, .int64(1)))
        #expect(expression.normalized == .or([notA, .and([.not(.filter(b)), .filter(a)])]))
        #expect(QueryExpression.and([]).normalized == .all)
        #expect(QueryExpression.or([]).normalized == .none)
        #expect(QueryExpression.not(.all).normalized == .none)
        #expect(QueryExpression.and([.filter(a), .filter(a)]).normalized == .filter(a))
    }

    @Test func `the normal form matches the same records, and is its own normal form`() {
        let seed: UInt64 = 20_260_727
        var random = SeededGenerator(seed: seed)
        let names = ["a", "b", "c"]

        func expression(_ depth: Int) -> QueryExpression {
            switch depth == 0 ? 2 : Int.random(in: 0...7, using: &random) {
            case 0: return .all
            case 1: return .none
            case 2, 3:
                let comparator = FilterComparator.allCases.randomElement(using: &random) ?? .equals
                let value = FieldValue.int64(Int64.random(in: 0...2, using: &random))
                return .filter(
                    Filter(
                        .field(names.randomElement(using: &random) ?? "a"), comparator,
                        comparator.takesList ? .list(of: .int64, [value, .int64(9)]) : value))
            case 4: return .not(expression(depth - 1))
            case 5, 6: return .and((0..<Int.random(in: 0...3, using: &random)).map { _ in expression(depth - 1) })
            default: return .or((0..<Int.random(in: 0...3, using: &random)).map { _ in expression(depth - 1) })
            }
        }

        /// Evaluates without the normal form: filter by filter.
        func holds(_ expression: QueryExpression, _ record: RecordValues) -> Bool {
            switch expression {
            case .all: true
            case .none: false
            case .filter(let filter): QueryMatcher([filter]).matches(record)
            case .and(let parts): parts.allSatisfy { holds($0, record) }
            case .or(let parts): parts.contains { holds($0, record) }
            case .not(let inner): !holds(inner, record)
            }
        }

        for _ in 0..<2000 {
            let expression = expression(4)
            let normalized = expression.normalized
            #expect(normalized.normalized == normalized, "seed \(seed)")
            for _ in 0..<4 {
                var fields = RecordFields()
                for name in names {
                    switch Int.random(in: 0...4, using: &random) {
                    case 0: break
                    case 1: fields[name] = Field(.list(of: .int64, [.int64(Int64.random(in: 0...2, using: &random))]))
                    default: fields[name] = Field(.int64(Int64.random(in: 0...2, using: &random)))
                    }
                }
                let record = RecordValues(recordName: "r", fields: fields)
                #expect(holds(expression, record) == holds(normalized, record), "seed \(seed): \(expression)")
                #expect(QueryMatcher(expression).matches(record) == holds(expression, record), "seed \(seed)")
            }
        }
    }
}
