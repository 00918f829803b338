import AccountCommands
import AccountHTTP
import AccountKit
import AccountOffline
import ArgumentParser
import Foundation

/// A list of pages to read at a Kinto server, also available without the network: `reading-list account login`,
/// `reading-list add https://example.com` …
@main struct ReadingList: AsyncParsableCommand, AccountApplication {
    static let identifier = "com.example.reading-list"
    static let configuration = CommandConfiguration(
        commandName: "reading-list", abstract: "Keep a list of pages to read, online or offline.",
        discussion: "READING_LIST_ISSUER is the issuer, and READING_LIST_KINTO is the origin of the Kinto server.",
        subcommands: [List.self, Add.self, Edit.self, Remove.self, AccountCommand<ReadingList>.self])
    static let environment = ProcessInfo.processInfo.environment

    static func authority(with options: AuthorityOptions) throws(AccountError) -> any AccountAuthority {
        let issuer = environment["READING_LIST_ISSUER"] ?? "https://login.example.com"
        return try OAuthAuthority(
            issuer: issuer, clientID: "account-cli", timeout: options.timeout, logger: options.logger)
    }

    // snippet.data
    /// `sync`, `pending` and `resolve`.
    static var commandGroups: [AccountCommandGroup<Self>] { [.changes] }

    static func linkedStorage(of store: AccountStore) async throws -> (any AccountLinkedStorage)? {
        try await articles(of: store)
    }
    // snippet.end

    // snippet.open
    static func articles(of store: AccountStore) async throws -> OfflineCollection<ArticlesAPI> {
        let kinto = environment["READING_LIST_KINTO"] ?? "https://kinto.example.com"
        let authority = try authority()
        let client = try AuthenticatedClient(origin: kinto, store: store, authority: authority)
        return try await OfflineCollection("articles", ArticlesAPI(), of: store, in: container()) { request, body in
            let response = try await client.send(request, body: body)
            return (response.head, response.body)
        }
    }
    // snippet.end

    // snippet.change
    /// Stores a change, and sends all pending changes if the service can be reached.
    static func make(_ change: Change) async throws {
        let articles = try await articles(of: store())
        try await articles.add(change)  // stored on disk from here on
        let report = try await articles.synchronize()
        await articles.close()
        if !report.pending.isEmpty {
            let reason = report.problem.map { " (\($0.description.shown))" } ?? ""
            say("Stored, but not sent yet\(reason): run `reading-list account sync`")
        }
    }
    // snippet.end

    static func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}

extension ReadingList {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show the pages.")

        @Option(help: "The number of pages to show.") var limit = 30
        @Flag(help: "Do not connect to the service.") var offline = false

        // snippet.list
        func run() async throws {
            let articles = try await ReadingList.articles(of: ReadingList.store())
            var list =
                try await offline
                ? articles.snapshot(of: "articles", limit: limit) : articles.refresh("articles", limit: limit)
            while list.problem == nil, !offline, list.rows.count < limit, list.hasMore {
                _ = try await articles.loadMore(of: "articles")
                list = try await articles.snapshot(of: "articles", limit: limit)
            }
            for row in list.rows {
                print("\(row.id.shown)  \(row.item.line)\(row.isPending ? "  (not sent yet)" : "")")
            }
            if let problem = list.problem {
                ReadingList.say("as of \(list.asOf?.formatted() ?? "some time"): \(problem.description.shown)")
            }
            await articles.close()
        }
        // snippet.end
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add a page.")

        @Argument(help: "The URL.") var url: String
        @Option(help: "The title.") var title: String?

        // snippet.add
        func run() async throws {
            let article = ArticleEdit(title: title, url: url, isRead: false)
            try await ReadingList.make(Change(.create, body: try JSONEncoder().encode(article)))
        }
        // snippet.end
    }

    struct Edit: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Change the title of a page, or mark it as read.")

        @Argument(help: "The ID of the page.") var id: String
        @Option(help: "The title.") var title: String?
        @Flag(inversion: .prefixedNo, help: "Mark the page as read or as not read.") var read: Bool?

        // snippet.edit
        func run() async throws {
            let edit = try JSONEncoder().encode(ArticleEdit(title: title, isRead: read))
            let article = try await ReadingList.article(id)
            try await ReadingList.make(Change(.update, of: article.id, body: edit, base: article.version))
        }
        // snippet.end
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a page.")

        @Argument(help: "The ID of the page.") var id: String

        func run() async throws {
            let article = try await ReadingList.article(id)
            try await ReadingList.make(Change(.delete, of: article.id, base: article.version))
        }
    }

    /// The stored article, which a change is based on.
    private static func article(_ id: String) async throws -> Article {
        let articles = try await articles(of: store())
        guard let article = try await articles.item(id) else {
            throw ValidationError("there is no page \(id.shown) here: `reading-list list` shows all")
        }
        await articles.close()
        return article
    }
}
