import AccountDocuments
import Foundation
import HTTPTypes

// snippet.adapter
/// Files of a WebDAV server (RFC 4918): GET and PUT with the server's ETag.
struct WebDAV: RemoteBlob {
    /// The path of the folder, such as `/files/`.
    let folder: String

    func request(downloading id: String) -> HTTPRequest { request(.get, id) }
    func request(uploading id: String) -> HTTPRequest { request(.put, id) }

    private func request(_ method: HTTPRequest.Method, _ id: String) -> HTTPRequest {
        let name = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? id
        return HTTPRequest(method: method, scheme: nil, authority: nil, path: folder + name)
    }
}
// snippet.end
