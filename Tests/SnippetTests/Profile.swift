import AccountKit
import AccountTesting
import Foundation
import Testing

// snippet.type
struct NotesProfile: Codable, Equatable {
    var theme = "light"
    var pageSize = 50
    var lastNote: String?

    enum CodingKeys: String, CodingKey {  // the names of the stored fields
        case theme = "notes_theme"
        case pageSize = "notes_page_size"
        case lastNote = "notes_last_note"
    }
}
// snippet.end

// snippet.types
struct NotesSettings: Codable, Equatable {
    enum Order: String, Codable { case newest, oldest }

    // Add coding keys with a prefix, as above.
    var order: Order?  // a string
    var device: UUID?  // a string
    var homePage: URL?  // a string
    var lastSync: Date?  // a date, or ISO 8601 text, or the seconds since 1970
    var wordsPerMinute: Double?  // a real or an integer
    var tags: [String]?  // an array
    var drafts: [String: Int]?  // a dictionary
}
// snippet.end

enum Profiles {
    static func save(_ store: AccountStore) async throws {
        // snippet.save
        try await store.updateFields(default: NotesProfile()) { mine in
            mine.theme = "dark"
            mine.lastNote = "Milk"
        }
        // snippet.end
    }

    static func load(_ store: AccountStore) throws -> NotesProfile? {
        // snippet.load
        let mine = try store.account?.profile.decoded(default: NotesProfile())
        // snippet.end
        return mine
    }

    static func fields(_ store: AccountStore) async throws {
        // snippet.fields
        try await store.update { account in
            account.profile.nickname = "Al"  // a claim of OpenID Connect, by its property
            account.profile["notes_theme"] = "dark"  // any other field, by its name
            account.profile["notes_pins"] = [3, 14, 15]
        }
        // snippet.end
    }

    static func send(_ store: AccountStore, _ authority: any AccountAuthority) async throws {
        // snippet.send
        try await store.sendProfile(to: authority) { $0.nickname = "Al" }
        // snippet.end
    }
}

struct ProfileTests {
    @Test func `Saves and loads an app's own profile`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        try await Profiles.save(store)
        let profile = try #require(try Profiles.load(store))
        #expect(profile == NotesProfile(theme: "dark", lastNote: "Milk"))
        #expect(store.account?.profile.name == "Alice Liddell")
    }

    @Test func `Decodes an app's profile after a sign-in without the app's fields`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        #expect(try Profiles.load(store) == NotesProfile())
        try await Profiles.fields(store)
        #expect(try Profiles.load(store) == NotesProfile(theme: "dark"))
    }

    @Test func `Overwrites a profile field with a service's claim of the same name`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        try await Profiles.save(store)
        let identity = Identity(id: "248289761001", profile: ["notes_theme": "blue"])
        _ = await store.checkSession(with: ScriptedAuthority(verify: [.identity(identity)]))
        #expect(try Profiles.load(store) == NotesProfile(theme: "blue", lastNote: "Milk"))
    }

    @Test func `Encodes and decodes each property of an app's type as a field`() throws {
        let settings = NotesSettings(
            order: .newest, device: UUID(), homePage: URL(string: "https://example.com/a"),
            lastSync: Date(timeIntervalSince1970: 0), wordsPerMinute: 200, tags: ["a"], drafts: ["today": 2])
        let profile = try UserProfile(encoding: settings)
        #expect(profile["order"] == "newest")
        #expect(profile["lastSync"] == .date(Date(timeIntervalSince1970: 0)))
        #expect(profile["wordsPerMinute"] == 200)
        #expect(try profile.decoded() == settings)
    }

    @Test func `Throws an error for a profile field that does not fit its property`() throws {
        struct Claims: Codable {
            var updated: Date?
            var active: Bool?
            var count: Int?
        }
        let profiles: [UserProfile] = [["updated": "yesterday"], ["active": 1], ["count": 3.5], ["count": "3"]]
        for profile in profiles {
            expectAccountError(.damaged) { try profile.decoded(as: Claims.self) }
        }
    }

    @Test func `Sets single profile fields, and sends the fields to the service`() async throws {
        let store = try await AccountStore.inMemory(signedIn: .fresh(at: ManualClock().now))
        try await Profiles.fields(store)
        #expect(store.account?.profile["notes_pins"] == [3, 14, 15])
        let authority = ScriptedAuthority()
        try await Profiles.send(store, authority)
        #expect(authority.requests == [.updateProfile])
        #expect(store.account?.profile.nickname == "Al")
    }
}
