import AccountKit
import AccountTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct UserProfileTests {
    private static let date = Date(timeIntervalSince1970: 1_500_000_000.5)

    // MARK: The usual fields

    @Test func `Stores standard profile fields under the claims of OpenID Connect`() {
        var profile = UserProfile()
        profile.name = "Alice Liddell"
        profile.nickname = "Ally"
        profile.preferredUsername = "alice"
        profile.email = "alice@example.com"
        profile.isEmailVerified = true
        profile.picture = "https://example.com/alice.png"
        profile.phoneNumber = "+1 555 0100"
        profile.groups = ["staff", "admin"]
        profile.updatedAt = Self.date
        profile.registeredAt = Self.date
        #expect(
            profile.fields == [
                "name": "Alice Liddell", "nickname": "Ally", "preferred_username": "alice",
                "email": "alice@example.com",
                "email_verified": true, "picture": "https://example.com/alice.png", "phone_number": "+1 555 0100",
                "groups": ["staff", "admin"], "updated_at": .date(Self.date), "registered_at": .date(Self.date),
            ])
        #expect(profile.name == "Alice Liddell" && profile.nickname == "Ally" && profile.preferredUsername == "alice")
        #expect(profile.email == "alice@example.com" && profile.isEmailVerified == true)
        #expect(profile.picture == "https://example.com/alice.png" && profile.phoneNumber == "+1 555 0100")
        #expect(profile.groups == ["staff", "admin"])
        #expect(profile.updatedAt == Self.date && profile.registeredAt == Self.date)
    }

    @Test func `Removes a profile field that is set to nil or to an empty list`() {
        var profile: UserProfile = [
            "name": "Alice", "points": 1, "groups": ["staff"], "updated_at": 1, "email_verified": true,
        ]
        profile.name = nil
        profile.points = nil
        profile.groups = []
        profile.updatedAt = nil
        profile.isEmailVerified = nil
        #expect(profile.fields.isEmpty)
    }

    @Test func `Reads a profile field of a wrong type as missing`() {
        let profile: UserProfile = [
            "name": 1, "points": "7", "email_verified": "true", "groups": 3, "updated_at": "2020",
        ]
        #expect(profile.name == nil && profile.points == nil && profile.isEmailVerified == nil)
        #expect(profile.groups.isEmpty && profile.updatedAt == nil)
    }

    @Test func `Reads profile dates from numbers, and a single group as a list`() {
        let profile: UserProfile = ["updated_at": 1_500_000_000, "registered_at": 1.5, "groups": "staff"]
        #expect(profile.updatedAt == Date(timeIntervalSince1970: 1_500_000_000))
        #expect(profile.registeredAt == Date(timeIntervalSince1970: 1.5))
        #expect(profile.groups == ["staff"])
    }

    @Test func `Replaces fields with newer fields in a merge, and keeps other fields`() {
        var profile: UserProfile = ["name": "Alice", "points": 1]
        profile.merge(["points": 2, "email": "alice@example.com"])
        #expect(profile == ["name": "Alice", "points": 2, "email": "alice@example.com"])
    }

    // MARK: Storing

    /// The value of a field, and the value that a later read returns.
    struct Value: CustomTestStringConvertible {
        let value: ProfileValue
        let back: ProfileValue

        init(_ value: ProfileValue, readsAs back: ProfileValue? = nil) {
            self.value = value
            self.back = back ?? value
        }

        var testDescription: String { String("\(value)".prefix(60)) }
    }

    static let values: [Value] = [
        Value(""), Value("Ünïcode 🔑 \u{0} \r\n"), Value(.string(String(repeating: "x", count: 100_000))),
        // Strings that a property-list encoder reads as null.
        Value("$null"), Value("$$null"), Value("$$$null"), Value("$nullable"), Value("null"), Value("$"),
        Value(" $null"),
        Value(["$null", "$$null"]), Value(["$null": "$null", "$$null": 1]), Value([["deep": ["$null"]]]),
        Value(0), Value(1), Value(-1), Value(.integer(.max)), Value(.integer(.min)),
        Value(0.5), Value(-1e-300), Value(1e300), Value(.real(.infinity)), Value(.real(-.infinity)),
        // A real without a fraction reads back as an integer, if the integer fits.
        Value(3.0, readsAs: 3), Value(-0.0, readsAs: 0), Value(1e18, readsAs: .integer(1_000_000_000_000_000_000)),
        Value(9_223_372_036_854_775_808.0),
        Value(true), Value(false),
        Value(.date(date)), Value(.date(.distantPast)), Value(.date(.distantFuture)),
        Value(.date(Date(timeIntervalSince1970: -0.25))),
        Value(.data(Data())), Value(.data(Data([0, 255, 128]))), Value(.data(Data(count: 100_000))),
        Value([]), Value([:]), Value([1, "two", 3.5, true, .date(date), .data(Data([1])), [], [:], [[1]]]),
        Value(["a": ["b": ["c": [1, ["d": .date(date)]]]], "": "empty key", "ä.b/c": 1]),
    ]

    @Test(arguments: values) func `Saves and loads a profile field of any type`(value: Value) async throws {
        let storage = InMemoryArchiveStorage()
        var account = Account.fresh(at: ManualClock().now)
        account.profile = ["other": "kept", "field": value.value]
        _ = try await AccountStore.testing(signedIn: account, storage: storage)
        let store = try await AccountStore.testing(signedIn: nil, storage: storage)
        try await store.update { $0.username = "changed" }
        let profile = try #require(try await storage.stateForNewProcess().account).profile
        #expect(profile == ["other": "kept", "field": value.back])
    }

    @Test func `Saves and loads the string $null in every profile field`() async throws {
        for text in ["$null", "$$null"] {
            var credentials = Account.fresh(at: ManualClock().now).credentials
            credentials.tokenType = text
            credentials.scopes = [text]
            credentials.clientID = text
            let account = Account(
                id: text, issuer: text, username: text, credentials: credentials, profile: [text: .string(text)])
            let storage = InMemoryArchiveStorage()
            _ = try await AccountStore.testing(signedIn: account, storage: storage)
            #expect(try await storage.stateForNewProcess().account == account)
        }
    }

    // MARK: An app's own type

    private struct Settings: Codable, Equatable {
        enum Theme: String, Codable { case light, dark }
        struct Address: Codable, Equatable {
            var street: String
            var numbers: [Int]
        }

        var theme = Theme.dark
        var volume = 3.0
        var ratio: Float = 0.5
        var level: UInt8 = 200
        var since = UserProfileTests.date
        var avatar = Data([1, 2, 3])
        var address: Address? = Address(street: "Main St", numbers: [1, -2])
        var nothing: Int?
        var flags: [String: Bool] = ["a": true, "b": false]
        var link = URL(string: "https://example.com")!

        enum CodingKeys: String, CodingKey {
            case theme, volume, ratio, level, since, avatar, address, nothing, flags
            case link = "home_page"
        }
    }

    @Test func `Encodes an app's own type into a profile, and decodes the type`() async throws {
        let settings = Settings()
        var account = Account.fresh(at: ManualClock().now)
        account.profile.merge(try UserProfile(encoding: settings))
        #expect(account.profile["theme"] == "dark")
        #expect(account.profile["volume"] == 3)
        #expect(account.profile["nothing"] == nil)

        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: account, storage: storage)
        let profile = try #require(try await storage.stateForNewProcess().account).profile
        #expect(try profile.decoded(as: Settings.self) == settings)
        #expect(profile.email == "alice@example.com", "fields that the type does not have are kept")
    }

    @Test func `Decodes an app's type with only optional fields after a sign-in`() async throws {
        struct Settings: Codable, Equatable {
            var theme: String?
            var pageSize: Int?
        }
        let store = try await AccountStore.testing(signedIn: .fresh(at: ManualClock().now))
        let fresh = try #require(store.account).profile
        #expect(try fresh.decoded(as: Settings.self) == Settings())

        let fields = try UserProfile(encoding: Settings(theme: "dark"))
        try await store.update { $0.profile.merge(fields) }
        let profile = try #require(store.account).profile
        #expect(try profile.decoded(as: Settings.self) == Settings(theme: "dark"))
        #expect(profile.email == fresh.email)
        let more = try UserProfile(encoding: Settings(pageSize: 20))
        try await store.update { $0.profile.merge(more) }
        #expect(
            try #require(store.account).profile.decoded() == Settings(theme: "dark", pageSize: 20),
            "a property that is nil removes no field")
    }

    @Test func `Decodes a service's text and numbers as URL, Date, Decimal and Data`() throws {
        struct Facts: Codable, Equatable {
            var page: URL
            var joined: Date
            var seen: Date
            var precise: Date
            var price: Decimal
            var picture: Data
            var extra: [String: ProfileValue]?
        }
        let json = """
            {"page": "https://example.com/a", "joined": "2026-11-26T10:00:00Z", "seen": 1500000000.5,
             "precise": "2026-11-26T10:00:00.250Z", "price": 12.34, "picture": "AQID", "extra": {"a": null, "b": [null, 1]}}
            """
        let profile = UserProfile(try JSONDecoder().decode([String: ProfileValue].self, from: Data(json.utf8)))
        let facts: Facts = try profile.decoded()
        #expect(facts.page == URL(string: "https://example.com/a"))
        #expect(facts.joined == Date(timeIntervalSince1970: 1_795_687_200))
        #expect(facts.precise == facts.joined.addingTimeInterval(0.25))
        #expect(facts.seen == Self.date)
        #expect(facts.price == Decimal(string: "12.34"))
        #expect(facts.picture == Data([1, 2, 3]))
        #expect(facts.extra?["b"] == [.null, 1])
        #expect(throws: EncodingError.self, "an archive has no null in an array") { try UserProfile(encoding: facts) }

        var storable = facts
        storable.extra = nil
        let encoded = try UserProfile(encoding: storable)
        #expect(encoded["page"] == "https://example.com/a")
        #expect(encoded["joined"] == .date(facts.joined))
        #expect(encoded["picture"] == .data(facts.picture))
        #expect(try encoded.decoded() == storable)
    }

    @Test func `Treats a service's null as a missing field, even from an archive`() async throws {
        let json = #"{"name": null, "plan": "free", "address": {"street": null, "city": "Ulm"}, "list": [1, null]}"#
        let fields = try JSONDecoder().decode([String: ProfileValue].self, from: Data(json.utf8))
        #expect(fields["name"] == .null)
        var account = Account.fresh(at: ManualClock().now)
        account.profile = UserProfile(fields)
        #expect(account.profile["name"] == nil)
        account.profile["nickname"] = .null

        let storage = InMemoryArchiveStorage()
        _ = try await AccountStore.testing(signedIn: account, storage: storage)
        let profile = try #require(try await storage.stateForNewProcess().account).profile
        #expect(profile == ["plan": "free", "address": ["city": "Ulm"], "list": [1]])
    }

    @Test func `Decodes a URL and a Decimal in the form of earlier versions`() throws {
        struct Facts: Codable, Equatable {
            var page: URL
            var price: Decimal
        }
        let facts = Facts(page: try #require(URL(string: "https://example.com/a")), price: 12.5)
        let stored = try PropertyListEncoder().encode(facts)
        let fields = try PropertyListDecoder().decode([String: ProfileValue].self, from: stored)
        #expect(fields["page"] == ["relative": "https://example.com/a"])
        #expect(try UserProfile(fields).decoded() == facts)
    }

    @Test(arguments: ["yesterday", "2026-13-01T00:00:00Z"])
    func `Does not decode text that is not a date as a date`(text: String) {
        struct Facts: Decodable { var joined: Date }
        let profile: UserProfile = ["joined": .string(text)]
        #expect(throws: DecodingError.self) { try profile.decoded(as: Facts.self) }
    }

    @Test func `Decodes missing fields as the app's default values`() throws {
        struct Settings: Codable, Equatable {
            var theme = "light"
            var pageSize = 50
            var sizes = ["small": 1]
        }
        let fresh: UserProfile = ["email": "alice@example.com"]
        #expect(try fresh.decoded(default: Settings()) == Settings())
        var changed = fresh
        changed["theme"] = "dark"
        #expect(try changed.decoded(default: Settings()) == Settings(theme: "dark"))
        changed["pageSize"] = "many"
        #expect(throws: DecodingError.self) { try changed.decoded(default: Settings()) }
    }

    @Test func `A check overwrites fields named like a claim, and keeps other fields`() async throws {
        let clock = ManualClock()
        let account = Account.fresh(at: clock.now)
        let store = try await AccountStore.testing(signedIn: account, clock: clock)
        try await store.update { $0.profile.merge(["nickname": "mine", "theme": "dark"]) }
        let identity = Identity(id: account.id, profile: ["nickname": "the service's"])
        _ = await store.checkSession(with: ScriptedAuthority(verify: [.identity(identity)]))
        #expect(store.account?.profile["nickname"] == "the service's")
        #expect(store.account?.profile["theme"] == "dark")
    }

    @Test func `Throws an error for a missing or mistyped field of an app's type`() {
        struct Named: Decodable { var name: String }
        let bad: [UserProfile] = [[:], ["name": 1], ["name": ["Alice"]]]
        for profile in bad { #expect(throws: DecodingError.self) { try profile.decoded(as: Named.self) } }
        #expect(throws: (any Error).self) { try UserProfile(encoding: ["not", "a", "dictionary"]) }
    }
}
