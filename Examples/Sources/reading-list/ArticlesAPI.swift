import AccountOffline
import Foundation
import HTTPTypes

/// Articles at a Kinto server, in the user's own bucket: https://docs.kinto-storage.org/en/stable/api/1.x/records.html
struct ArticlesAPI: RemoteCollection {
    typealias Item = Article

    private struct Content<Value: Codable>: Codable { var data: Value }

    /// If the client sends a record with the same id repeatedly, Kinto creates only one.
    let isCreateIdempotent = true

    func request(for list: String, at cursor: String?) -> HTTPRequest {
        request(.get, "?" + (cursor ?? "_sort=-last_modified&_limit=30"))
    }

    func page(_ head: HTTPResponse, _ body: Data) throws -> RemotePage {
        if head.status == .notModified { return RemotePage(items: [], next: nil) }
        let next = head.headerFields[HTTPField.Name("Next-Page")!].flatMap { URLComponents(string: $0) }
        return try RemotePage(elementsOf: body, at: "data", next: next?.percentEncodedQuery)
    }

    func request(forItem id: String) -> HTTPRequest { request(.get, "/" + id) }

    func item(_ head: HTTPResponse, _ body: Data) throws -> RemoteItem {
        try RemoteItem(JSONDecoder().decode(Content<Article>.self, from: body).data)
    }

    // An item that is not an article has no version.
    func version(of item: RemoteItem) -> String? { try? JSONDecoder().decode(Article.self, from: item.json).version }

    func request(for change: Change) throws -> (head: HTTPRequest, body: Data?) {
        let path = "/" + change.object
        if change.kind == .delete { return (request(.delete, path, ifMatch: change.base), nil) }
        var edit = try JSONDecoder().decode(ArticleEdit.self, from: change.body)
        if change.kind == .create { edit.id = change.id.uuidString.lowercased() }
        let body = try JSONEncoder().encode(Content(data: edit))
        return (change.kind == .create ? request(.post, "") : request(.patch, path, ifMatch: change.base), body)
    }

    func item(_ item: Data?, with change: Change) throws -> Data? {
        guard change.kind != .delete, item != nil || change.kind == .create else { return nil }
        var article = try item.map { try JSONDecoder().decode(Article.self, from: $0) } ?? Article(id: change.object)
        article.apply(try JSONDecoder().decode(ArticleEdit.self, from: change.body))
        return try RemoteItem(article).json
    }

    private func request(_ method: HTTPRequest.Method, _ path: String, ifMatch tag: String? = nil) -> HTTPRequest {
        let records = "/v1/buckets/default/collections/articles/records"
        var request = HTTPRequest(method: method, scheme: nil, authority: nil, path: records + path)
        request.headerFields[.contentType] = "application/json"
        request.headerFields[.ifMatch] = tag
        return request
    }
}
