#if Offline
import AccountKit
import AccountTesting
import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import AccountOffline

/// Numbered pages of services that have empty pages, limit their size, or do not fit together: the list is whole, or ends with
/// an error after a bounded number of requests.
struct OddPagesTests {
    private struct Row: Codable, Sendable { var id: String }

    /// A request for a page, as in GitHub's API.
    private struct Page: Sendable {
        var size: Int
        var number: Int

        var query: String { "per_page=\(size)&page=\(number)" }

        init(size: Int, number: Int) { (self.size, self.number) = (size, number) }

        /// - Parameter cursor: The query, or `nil` for the first page.
        init(_ cursor: String?) {
            let items = URLComponents(string: "?" + (cursor ?? ""))?.queryItems ?? []
            func number(_ name: String) -> Int? { items.first { $0.name == name }?.value.flatMap { Int($0) } }
            self.init(size: number("per_page") ?? 30, number: number("page") ?? 1)
        }
    }

    /// An adapter that requests pages of different sizes, so that one contains the last stored row and the next ones.
    private struct Rows: RemoteCollection {
        typealias Item = Row

        /// Whether a full page without a link may have a successor.
        var infersNext = false

        func request(for list: String, at cursor: String?) -> HTTPRequest {
            get("/rows?" + (cursor ?? Page(size: 30, number: 1).query))
        }
        func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
            try RemotePage(elementsOf: body, next: RemotePage.nextQuery(in: head))
        }
        func cursor(ofItemAt position: Int) -> String? {
            let known = position + 1
            var (size, gain) = (100, 0)
            for candidate in 51...100 where known % candidate != 0 && candidate - known % candidate > gain {
                (size, gain) = (candidate, candidate - known % candidate)
            }
            return Page(size: size, number: known / size + 1).query
        }
        func cursor(after cursor: String?, itemCount: Int, _ head: HTTPResponse) -> String? {
            let page = Page(cursor)
            return infersNext && itemCount >= page.size ? Page(size: page.size, number: page.number + 1).query : nil
        }
        func request(forItem id: String) -> HTTPRequest { get("/rows/" + id) }
        func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem { RemoteItem(id: "", json: body) }
        func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) { (get("/rows"), nil) }
        func item(_ item: Data?, with change: Change) throws -> Data? { item }
        private func get(_ path: String) -> HTTPRequest {
            HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
        }
    }

    /// The service: the IDs of a page, and the next page. `count` is the number of requests so far.
    private typealias Service = @Sendable (_ page: Page, _ count: Int) -> (ids: [String], next: Page?)

    private struct Opened {
        let rows: OfflineCollection<Rows>
        let count: Counter
        let scene: OfflineScene

        func ids() async throws -> [String] { try await rows.snapshot(of: "rows", limit: 1000).rows.map(\.id) }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func next() -> Int {
            count.withLock {
                $0 += 1
                return $0
            }
        }
    }

    private func open(with remote: Rows = Rows(), _ service: @escaping Service) async throws -> Opened {
        let (scene, count) = (try await OfflineScene(), Counter())
        let container = try AppContainer(root: scene.root, identifier: "com.example.rows")
        let rows = try await OfflineCollection("rows", remote, of: scene.store, in: container, clock: scene.clock) {
            request, _ in
            let query = request.path?.split(separator: "?").last.map(String.init)
            let page = service(Page(query), count.next())
            var head = HTTPResponse(status: .ok)
            if let next = page.next { head.headerFields[.link] = "</rows?\(next.query)>; rel=\"next\"" }
            return (head, try JSONEncoder().encode(page.ids.map { Row(id: $0) }))
        }
        return Opened(rows: rows, count: count, scene: scene)
    }

    private static let all = (1...75).map { "r\($0)" }

    /// Pages of at most `limit` rows, some of which are empty.
    private static func pages(limit: Int, empty: Set<Int> = []) -> Service {
        { page, _ in
            let size = min(limit, page.size)
            let before = (1..<max(page.number, 1)).count { !empty.contains($0) }
            let rows = empty.contains(page.number) ? [] : Array(all.dropFirst(before * size).prefix(size))
            let isLast = before * size + rows.count >= all.count
            return (rows, isLast ? nil : Page(size: page.size, number: page.number + 1))
        }
    }

    @Test func `Loads a list of a service that limits its pages in few requests`() async throws {
        let opened = try await open(Self.pages(limit: 10))
        try await opened.rows.refreshAll("rows")
        #expect(try await opened.ids() == Self.all)
        #expect(opened.count.value <= 25)
    }

    /// The pages that are empty although others follow.
    @Test(arguments: [[2], [2, 3, 4], [1], [1, 2, 3], [3, 5], [8]] as [Set<Int>])
    func `Loads the rows after up to three empty pages`(empty: Set<Int>) async throws {
        let opened = try await open(Self.pages(limit: 10, empty: empty))
        try await opened.rows.refreshAll("rows")
        #expect(try await opened.ids() == Self.all)
        #expect(try await !opened.rows.snapshot(of: "rows", limit: 1000).hasMore)
        try await opened.rows.refreshAll("rows")
        #expect(try await opened.ids() == Self.all)
        #expect(opened.count.value < 150)
    }

    @Test func `Ends a list after four empty pages`() async throws {
        let opened = try await open(Self.pages(limit: 10, empty: [3, 4, 5, 6]))
        try await opened.rows.refreshAll("rows")
        #expect(try await opened.ids() == Array(Self.all.prefix(20)))
        #expect(try await !opened.rows.snapshot(of: "rows", limit: 1000).hasMore)
    }

    @Test(arguments: [0, 1, 29, 30, 31, 75, 100, 101, 130, 230])
    func `Loads a whole list although no response has a link`(count: Int) async throws {
        let all = (0..<count).map { "r\($0)" }
        let opened = try await open(with: Rows(infersNext: true)) { page, _ in
            (Array(all.dropFirst((page.number - 1) * page.size).prefix(page.size)), nil)
        }
        for _ in 1...2 {
            try await opened.rows.refreshAll("rows")
            #expect(try await opened.ids() == all)
            #expect(try await !opened.rows.snapshot(of: "rows", limit: 1000).hasMore)
        }
        #expect(opened.count.value < 30)
    }

    private static func rows(_ name: String) -> [String] { (1...30).map { "\(name)\($0)" } }

    /// How the pages of an endless list change.
    enum Endless: CaseIterable { case same, turns, three, random, shrinking }

    @Test(arguments: Endless.allCases)
    func `Reports a list whose pages do not fit together`(kind: Endless) async throws {
        let opened = try await open { page, count in
            // Each page removes the last rows of the one before, and adds others.
            if kind == .shrinking {
                let ids = count.isMultiple(of: 2) ? Self.rows("a").dropLast() + ["w"] : Self.rows("a") + ["x"]
                return (ids, Page(size: page.size, number: page.number + 1))
            }
            let name =
                switch kind {
                case .same, .shrinking: "a"
                case .turns: ["a", "b"][count % 2]
                case .three: ["a", "b", "c"][count % 3]
                case .random: "\(count)-"
                }
            return (Self.rows(name), Page(size: page.size, number: page.number + 1))
        }
        let error = await expectAccountError(.requestRefused) { try await opened.rows.refreshAll("rows") }
        #expect(error?.message.contains("may be incomplete") == true)
        #expect(opened.count.value < 1000)
        #expect(try await opened.ids().count >= 30)
        // The next request of the user tries again.
        guard kind != .shrinking else { return }
        await expectAccountError(.requestRefused) { try await opened.rows.refreshAll("rows") }
        #expect(opened.count.value < 1000)
    }
}
#endif
