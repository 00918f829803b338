import AccountOffline
import Foundation
import HTTPTypes

// snippet.adapter
/// Files of a WebDAV server (RFC 4918): that is GET and PUT, and the server's ETag.
struct WebDAV: RemoteBlob {
    /// Where they are, such as `/files/`.
    let folder: String

    func request(downloading id: String) -> HTTPRequest { request(.get, id) }
    func request(uploading id: String) -> HTTPRequest { request(.put, id) }

    private func request(_ method: HTTPRequest.Method, _ id: String) -> HTTPRequest {
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? id
        return HTTPRequest(method: method, scheme: nil, authority: nil, path: folder + name)
    }
}
// snippet.end
