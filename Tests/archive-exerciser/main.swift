import AccountKit

// A process that the system tests run many of at once, and kill: `archive-exerciser ROOT COUNT` changes the account of
// the container COUNT times, and prints how often it did.
guard CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[2]) else {
    fatalError("usage: archive-exerciser ROOT COUNT")
}
let container = try AppContainer(root: CommandLine.arguments[1], identifier: "exerciser")
let store = AccountStore(container: container)
for _ in 0..<count {
    try await store.update { account in
        account.profile.points = (account.profile.points ?? 0) + 1
    }
}
print(count)
