import AccountKit
public import HTTPTypes
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AuthenticatedClient {
    /// A body that is sent in pieces: its length in bytes, and a function that starts it from the beginning. The client
    /// calls the function again if it repeats the request.
    public typealias BodyStream = (
        byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>
    )

    /// Sends a request like ``send(_:body:)``, with bodies that are too large for memory.
    ///
    /// The client requests or passes on a piece only after the previous piece was processed. ``timeout`` limits the
    /// time without any bytes, and ``maximumResponseLength`` limits error responses.
    ///
    /// ```swift
    /// let response = try await api.stream(request) { _, piece in try file.write(contentsOf: piece) }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request, as for ``send(_:body:)``.
    ///   - body: The body of the request.
    ///   - receive: Receives the pieces of a response body with a status from 200 to 299, each with the head. If it
    ///     throws, the request ends.
    /// - Returns: The response. Its body is empty if it was passed to `receive`.
    /// - Throws: The error of `receive` or `body`; otherwise the errors of ``send(_:body:)``. If the response is
    ///   incomplete, `serviceUnavailable`.
    public func stream(
        _ request: HTTPRequest, body: BodyStream? = nil,
        receiving receive: @escaping @Sendable (_ head: HTTPResponse, _ piece: Data) async throws -> Void
    ) async throws -> APIResponse {
        var sent = try serviceRequest(request.method, url(of: request), request.headerFields, nil)
        if sent.headerFields[.accept] == nil { sent.headerFields[.accept] = "*/*" }
        let message = sent
        let transfer = BodyTransfer(body, receive)
        do {
            return try await authorized { (token) async throws(AccountError) in
                try await exchange(message, transfer, token)
            }
        } catch {
            throw transfer.failure ?? error
        }
    }

    private func exchange(
        _ request: ServiceRequest, _ transfer: BodyTransfer, _ token: Secret
    ) async throws(AccountError) -> (response: APIResponse, isRefused: Bool) {
        var request = request
        request.authorization = .bearer(token)
        do {
            return try judged(try await transported(request, transfer), token)
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
        return ServiceResponse(
            head: head, body: WipedBytes(isHandedOn ? Data() : body), receivedAt: Date())
    }
}
