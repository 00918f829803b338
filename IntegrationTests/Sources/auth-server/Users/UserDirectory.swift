/// The users of the example server, by user name.
struct UserDirectory: Sendable {
    private let users: [String: User]

    /// Creates a directory of alice, bob and the given users.
    ///
    /// - Parameter demoUsers: Further users. If a name already exists, only the password is replaced.
    init(demoUsers: [DemoUser] = []) {
        var users = Dictionary(uniqueKeysWithValues: [Self.alice, Self.bob].map { ($0.username, $0) })
        for (index, demoUser) in demoUsers.enumerated() {
            let number = users[demoUser.name]?.id ?? 2001 + index
            let user = users[demoUser.name] ?? Self.user(named: demoUser.name, number: number)
            users[demoUser.name] = user.withPassword(demoUser.password)
        }
        self.users = users
    }

    subscript(username: String) -> User? { users[username] }

    /// The user with this name and password.
    ///
    /// Checking takes about the same time for an unknown name and for any wrong password, no matter where it differs.
    func user(named username: String, password: String) -> User? {
        let user = users[username]
        let matches = Self.isEqual(Array(password.utf8), Array((user?.password ?? "").utf8))
        return matches ? user : nil
    }

    private static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        var difference = left.count ^ right.count
        for (index, byte) in left.enumerated() {
            difference |= Int(byte ^ (right.isEmpty ? 0 : right[index % right.count]))
        }
        return difference == 0
    }
}

extension UserDirectory {
    private static let alice = User(
        id: 1001,
        subject: "u-5f0c2a9b7d314e86",
        username: "alice",
        password: "correct horse battery staple",
        name: "Alice Liddell",
        nickname: "Alice",
        email: "alice@example.org",
        phoneNumber: "+447700900123",
        groups: ["staff", "admins"],
        points: 1250,
        updatedAt: 1_750_000_000
    )

    private static let bob = User(
        id: 1002,
        subject: "u-c41e88d20b9f6a57",
        username: "bob",
        password: "hunter2 but longer",
        name: "Bob Sawyer",
        nickname: "Bob",
        email: "bob@example.org",
        phoneNumber: "+447700900456",
        groups: ["staff"],
        points: 40,
        updatedAt: 1_751_000_000
    )

    private static func user(named name: String, number: Int) -> User {
        User(
            id: number,
            subject: subject(for: name),
            username: name,
            password: "",
            name: name,
            nickname: name,
            email: "\(name)@example.org",
            phoneNumber: "+447700900999",
            groups: ["guests"],
            points: 0,
            updatedAt: 1_752_000_000
        )
    }

    /// Derives the same subject from the same name in every run (64-bit FNV-1a).
    private static func subject(for name: String) -> String {
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        return "u-" + String(hash, radix: 16)
    }
}

extension User {
    fileprivate func withPassword(_ password: String) -> User {
        User(
            id: id,
            subject: subject,
            username: username,
            password: password,
            name: name,
            nickname: nickname,
            email: email,
            phoneNumber: phoneNumber,
            groups: groups,
            points: points,
            updatedAt: updatedAt
        )
    }
}
