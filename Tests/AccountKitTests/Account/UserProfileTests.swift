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
        _ = try await AccountStore.inMemory(signedIn: account, storage: storage)
        let profile = try #require(try await storage.stateForNewProcess().account).profile
        #expect(try profile.decoded(as: Settings.self) == settings)
        #expect(profile.email == "alice@example.com", "fields that the type does not have are kept")
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
        // An archive has no null in an array.
        expectAccountError(.invalidArgument) { try UserProfile(encoding: facts) }

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
        _ = try await AccountStore.inMemory(signedIn: account, storage: storage)
        let profile = try #require(try await storage.stateForNewProcess().account).profile
        #expect(profile == ["plan": "free", "address": ["city": "Ulm"], "list": [1]])
    }

    @Test(arguments: ["yesterday", "2026-13-01T00:00:00Z"])
    func `Does not decode text that is not a date as a date`(text: String) {
        struct Facts: Decodable { var joined: Date }
        let profile: UserProfile = ["joined": .string(text)]
        expectAccountError(.damaged) { try profile.decoded(as: Facts.self) }
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
        let error = expectAccountError(.damaged) { try changed.decoded(default: Settings()) }
        let text = "\(error as Any)"
        #expect(text.contains("pageSize"))
    }

    @Test func `A check overwrites fields named like a claim, and keeps other fields`() async throws {
        let clock = ManualClock()
        let account = Account.fresh(at: clock.now)
        let store = try await AccountStore.inMemory(signedIn: account, clock: clock)
        try await store.update { $0.profile.merge(["nickname": "mine", "theme": "dark"]) }
        let identity = Identity(id: account.id, profile: ["nickname": "the service's"])
        _ = await store.checkSession(with: ScriptedAuthority(verify: [.identity(identity)]))
        #expect(store.account?.profile["nickname"] == "the service's")
        #expect(store.account?.profile["theme"] == "dark")
    }

    @Test func `Throws an error for a missing or mistyped field of an app's type`() {
        struct Named: Decodable { var name: String }
        let bad: [UserProfile] = [[:], ["name": 1], ["name": ["Alice"]]]
        for profile in bad { expectAccountError(.damaged) { try profile.decoded(as: Named.self) } }
        for value in [["not": Double.nan], ["not": .infinity]] {
            expectAccountError(.invalidArgument) { try UserProfile(encoding: value) }
        }
        expectAccountError(.invalidArgument) { try UserProfile(encoding: ["not", "a", "dictionary"]) }
    }
}
