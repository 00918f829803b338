import AccountKit
public import HTTPTypes
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AuthenticatedClient {
    /// A body that is sent piece by piece: how many bytes in all, and how to begin with the first one, which is done again if the
    /// request is sent again.
    public typealias BodyStream = (
        byteCount: Int, pieces: @Sendable () async throws -> AsyncThrowingStream<Data, any Error>
    )

    /// Sends a request as ``send(_:body:)`` does, where bodies are too large for the memory.
    ///
    /// A piece is asked for, or handed on, when the one before has been dealt with. ``timeout`` is for how long no byte may move,
    /// and ``maximumResponseLength`` is for responses that are no success.
    ///
    /// ```swift
    /// let response = try await api.stream(request) { _, piece in try file.write(contentsOf: piece) }
    /// ```
    ///
    /// - Parameters:
    ///   - request: As for ``send(_:body:)``.
    ///   - body: The body of the request.
    ///   - receive: Gets the body of a response with a status from 200 to 299, piece by piece, each with the head. An error that it
    ///     throws ends the request.
    /// - Returns: The response; its body is empty if it was handed on.
    /// - Throws: What `receive` or `body` have thrown; else as ``send(_:body:)``. A response that was cut is `serviceUnavailable`.
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
        let (head, body) = try await transport(message(request), try await transfer.wholeBody())
        let isHandedOn = head.status.kind == .successful
        if isHandedOn, !body.isEmpty { try await transfer.receive(head, body) }
        return ServiceResponse(
            head: head, body: WipedBytes(isHandedOn ? Data() : body), receivedAt: Date())
    }
}
