/// A request of another program, without its token.
package struct ForwardedRequest: Sendable {
    package var method: String

    /// The absolute URL, which may contain a query.
    package var url: String

    package var fields: [String: String]
    package var body: [UInt8]?

    package init(method: String, url: String, fields: [String: String] = [:], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }
}

/// The tokens of a session for requests to an API, which cannot end the session.
package struct RequestTokens: Sendable {
    package let session: SessionName

    /// Returns the account whose token to send, refreshed first if necessary.
    package let account: @Sendable () async throws(AccountError) -> Account

    /// Returns the account with another token after the API has refused the token of `account`; `nil` if no other token
    /// helps. Throws an error if the session has ended.
    package let replacement:
        @Sendable (_ account: Account, _ refusal: AuthorityError) async throws(AccountError) -> Account?

    /// Notes that the API has also refused a replacement, unless `refusal` is `nil` or does not concern the token.
    package let note: @Sendable (_ refusal: AuthorityError?, _ replacement: Account) -> Void
}

/// A response to a forwarded request, with its body still arriving.
///
/// All text of the response passes through ``ServerText``, so that no caller can pass on a token that the server repeats.
package struct ForwardedResponse: Sendable {
    package let status: Int

    /// The pieces of the body, in which a text replaces the tokens. The connection delivers a piece only when the caller
    /// asks for it.
    package let body: Body

    /// By lowercase names.
    private let fields: [String: String]

    private let text: ServerText

    /// - Parameters:
    ///   - fields: The header fields, with names in any case. Of several with one name, the first counts.
    ///   - secrets: The tokens of the request.
    package init(
        status: Int, fields: [(name: String, value: String)],
        body: any AsyncSequence<[UInt8], any Error> & Sendable, hiding secrets: [Secret]
    ) {
        self.status = status
        self.fields = Dictionary(fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        text = ServerText(secrets: secrets)
        self.body = Body(pieces: body, text: text)
    }

    /// Returns the value of a header field (RFC 9110, section 5.1), or `nil` if there is none, or if it repeats a token.
    package func field(_ name: String) -> String? {
        fields[name.lowercased()].flatMap {
            text.repeatsSecret($0, notShorterThan: ServerText.shortestSecret) ? nil : $0
        }
    }

    /// The media type in lower case, without parameters (RFC 9110, section 8.3.1).
    package var mediaType: String {
        String((field("content-type") ?? "").prefix { $0 != ";" }).filter { $0 != " " && $0 != "\t" }.lowercased()
    }

    /// Returns a part of the response for a message; see ``ServerText/shown(_:)``.
    package func shown(_ part: String?) -> String? { text.shown(part) }

    /// A body in pieces without tokens.
    package struct Body: AsyncSequence, Sendable {
        package typealias Element = [UInt8]

        fileprivate let pieces: any AsyncSequence<[UInt8], any Error> & Sendable
        fileprivate let text: ServerText

        package func makeAsyncIterator() -> Iterator {
            Iterator(pieces: pieces.makeAsyncIterator(), replacement: ServerText.Replacement(of: text))
        }

        package struct Iterator: AsyncIteratorProtocol {
            fileprivate var pieces: any AsyncIteratorProtocol<[UInt8], any Error>
            fileprivate var replacement: ServerText.Replacement
            private var isAtEnd = false

            fileprivate init(
                pieces: any AsyncIteratorProtocol<[UInt8], any Error>, replacement: ServerText.Replacement
            ) {
                self.pieces = pieces
                self.replacement = replacement
            }

            package mutating func next() async throws -> [UInt8]? { try await next(isolation: nil) }

            package mutating func next(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
                while !isAtEnd {
                    let piece = try await pieces.next(isolation: actor)
                    isAtEnd = piece == nil
                    let text = piece.map { replacement.next($0) } ?? replacement.last()
                    if !text.isEmpty { return text }
                }
                return nil
            }
        }
    }
}
