import AccountKit
public import HTTPTypes
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AuthenticatedClient {
    typealias BodyStream = (
        byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>
    )

    /// Sends a request as ``send(_:body:)`` does, for bodies that are too large for memory.
    ///
    /// The client processes the pieces of a body one at a time. `timeout` limits the time in which no bytes are sent
    /// or received, and ``maximumResponseLength`` limits error responses. After a 401 response, the client calls
    /// `pieces` again, and sends the body from the beginning with the new token.
    ///
    /// ```swift
    /// let response = try await api.stream(request) { _, piece in try file.write(contentsOf: piece) }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request, as for ``send(_:body:)``.
    ///   - body: The body of the request in pieces: its length in bytes, and a function that returns the pieces from the
    ///     beginning.
    ///   - receive: Receives each piece of the response body, with the head of the response, if the status is from 200
    ///     to 299. If this function throws an error, the request ends.
    /// - Returns: The response. If the client passed the body to `receive`, the body in the response is empty.
    /// - Throws: The errors of `receive` and `body`, and those of ``send(_:body:)``. If the response is incomplete,
    ///   `serviceUnavailable`.
    public func stream(
        _ request: HTTPRequest,
        body: (byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>)? = nil,
        receiving receive: @escaping @Sendable (_ head: HTTPResponse, _ piece: Data) async throws -> Void
    ) async throws -> APIResponse {
        var sent = try serviceRequest(request.method, at: try url(url(of: request)), request.headerFields)
        if sent.headerFields[.accept] == nil { sent.headerFields[.accept] = "*/*" }
        let message = sent
        let transfer = BodyTransfer(body, receive)
        do {
            return try await authorized { (account) async throws(AccountError) in
                try await exchange(message, transfer, account)
            }
        } catch {
            throw transfer.failure ?? error
        }
    }

    private func exchange(
        _ request: ServiceRequest, _ transfer: BodyTransfer, _ account: Account
    ) async throws(AccountError) -> (response: APIResponse, refusal: AuthorityError?) {
        var request = request
        do {
            try request.authorize(with: account.credentials)
            let response = try await nonces.exchange(request, clock: SystemWallClock()) {
                try await transported($0, transfer)
            }
            return try judged(response, to: request, account)
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(request: AuthorityError(error), to: origin)
        }
    }

    private func transported(_ request: ServiceRequest, _ transfer: BodyTransfer) async throws -> ServiceResponse {
        guard let transport else {
            return try await HTTPTransport.shared.stream(
                request, transfer, timeout: timeout, clock: SystemWallClock(), logger: logger)
        }
        let (head, body) = try await transport(request.message, try await transfer.wholeBody())
        let isHandedOn = head.status.kind == .successful
        if isHandedOn, !body.isEmpty { try await transfer.receive(head, body) }
        return ServiceResponse(head: head, body: WipedBytes(isHandedOn ? Data() : body), receivedAt: Date())
    }
}
