import SwiftUI

@main
struct GroceriesApp: App {
    @State private var items: [Item] = []

    var body: some Scene {
        WindowGroup {
            List(items) { Text($0.name) }
                .task { items = (try? await ItemStore().items()) ?? [] }
        }
    }
}
