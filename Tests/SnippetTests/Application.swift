import AccountCommands
import AccountKit
import AccountTesting
import ArgumentParser
import Foundation
import Testing

enum Notes: AccountApplication {
    static let identifier = "com.example.snippets"

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        ScriptedAuthority()
    }
}

// snippet.prefix
enum TwoDo: AccountApplication {
    static let identifier = "com.example.2do"
    static let environmentPrefix = "TWODO"  // a shell variable cannot begin with a digit
    // snippet.end

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        ScriptedAuthority()
    }
}

// snippet.tool
struct NotesTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "notes", subcommands: [AccountCommand<Notes>.self])
    static func main() { runTool() }
}
// snippet.end

enum Stores {
    static func stores() throws -> [AccountStore] {
        // snippet.stores
        let store = try Notes.store()  // the session that the commands use
        let work = try Notes.store(session: SessionName("work"))  // another session
        AccountStore.shared = store  // for all parts of the tool
        // snippet.end
        return [store, work]
    }

    static func folders() throws -> [URL] {
        // snippet.container
        let container = try Notes.container()  // obeys NOTES_HOME
        let drafts = container.documents.appending(path: "Drafts")  // is backed up
        let thumbnails = container.caches.appending(path: "Thumbnails")  // may be removed at any time
        // snippet.end
        return [drafts, thumbnails]
    }

    static func run(_ listNotes: () async throws -> Void) async throws {
        // snippet.exit
        do {
            try await listNotes()
        } catch let error as AccountError {
            FileHandle.standardError.write(Data("notes: \(error)\n".utf8))
            throw ExitCode(error.exitCode)  // 77 if the user is not signed in, 69 if the service was needed …
        }
        // snippet.end
    }
}

struct ApplicationTests {
    @Test func `Opens the store of the tool's commands or of any other session`() async throws {
        try await AccountStore.withShared(.inMemory(signedIn: nil)) {
            let stores = try Stores.stores()
            #expect(stores.map(\.session.rawValue) == ["default", "work"])
            #expect(AccountStore.shared === stores[0])
        }
        #expect(try Stores.folders().map(\.lastPathComponent) == ["Drafts", "Thumbnails"])
        #expect(try TwoDo.container().identifier == "com.example.2do")
    }

    @Test func `Exits like the embedded commands after a tool's own command fails`() async throws {
        await #expect(throws: ExitCode(77)) {
            try await Stores.run { throw AccountError(.notSignedIn, "you are not signed in: sign in first") }
        }
    }
}
