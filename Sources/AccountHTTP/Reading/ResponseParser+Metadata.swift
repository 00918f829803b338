import AccountKit
import AccountSupport

extension ResponseParser {
    /// Parses a document that a service or an API publishes. The body decides, and not its label: many servers send JSON
    /// files as text, or as a web page.
    ///
    /// - Throws: `unclear` or `intercepted` if the response is not a document, with the text for ``DocumentSearch``.
    func metadata(in response: ServiceResponse) throws(AuthorityError) -> JSONObject {
        let response = response.decompressed()
        try Self.checkAvailability(of: response, from: endpoint.name)
        guard (200..<300).contains(response.status) else { throw .unclear("\(response.status)") }
        guard response.isBodyWhole else { throw .unclear("a response that is too long") }
        if let object = ResponseObject(response.body, secrets: []) { return object.members }
        if response.isMarkup { throw .intercepted("a web page instead of \(endpoint.name)") }
        throw .unclear(response.isCompressed ? "a compressed response that cannot be read" : "not a JSON object")
    }
}
