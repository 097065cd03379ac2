extension Migration {
    /// Subscriptions, and the notifications that are on their way.
    static let fourth = Migration(
        number: 4,
        script: """
            CREATE TABLE subscription (
                owner {integer} NOT NULL,
                account {integer} NOT NULL,
                id {text} NOT NULL,
                record_type {text} NOT NULL,
                zone {integer} NOT NULL,
                body {bytes} NOT NULL,
                PRIMARY KEY (owner, account, id)
            ) {clustered};
            CREATE INDEX subscription_subject ON subscription (owner, record_type, account, id);

            CREATE TABLE push_token (
                token {text} NOT NULL PRIMARY KEY,
                account {integer} NOT NULL,
                client {text} NOT NULL,
                environment {text} NOT NULL,
                device {integer} NOT NULL,
                polls {integer} NOT NULL,
                seen_at {integer} NOT NULL
            ) {clustered};
            CREATE INDEX push_token_account ON push_token (account);

            CREATE TABLE outbox (
                account {integer} NOT NULL,
                destination {text} NOT NULL,
                id {integer} NOT NULL,
                subject {text} NOT NULL,
                notification {text} NOT NULL,
                subscription {text} NOT NULL,
                collapse {text},
                silent {integer} NOT NULL,
                created_at {integer} NOT NULL,
                payload {bytes} NOT NULL,
                attempts {integer} NOT NULL,
                due {integer} NOT NULL,
                PRIMARY KEY (account, destination, id)
            ) {clustered};
            CREATE INDEX outbox_subject ON outbox (account, destination, subject) WHERE subject <> '';
            CREATE INDEX outbox_due ON outbox (due, id) WHERE due > 0;
            """)
}
