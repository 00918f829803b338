public import AccountKit
public import Testing

/// Expects `body` to throw an `AccountError` with a code, and records an issue otherwise.
///
/// ```swift
/// await expectAccountError(.notSignedIn) { try await store.accessToken(with: authority) }
/// ```
///
/// - Returns: The error, for checks of its message or cause, or `nil` if the code threw no such error.
@discardableResult
public func expectAccountError<Value>(
    _ code: AccountError.Code, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, isolation: isolated (any Actor)? = #isolation,
    performing body: () async throws -> Value
) async -> AccountError? {
    do {
        return expected(code, in: .success(try await body()), comment(), sourceLocation)
    } catch {
        return expected(code, in: Result<Value, any Error>.failure(error), comment(), sourceLocation)
    }
}

/// Expects synchronous code to throw an `AccountError` with a code, and records an issue otherwise.
///
/// - Returns: The error, for checks of its message or cause, or `nil` if the code threw no such error.
@discardableResult
public func expectAccountError<Value>(
    _ code: AccountError.Code, _ comment: @autoclosure () -> Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, performing body: () throws -> Value
) -> AccountError? {
    expected(code, in: Result { try body() }, comment(), sourceLocation)
}

private func expected<Value>(
    _ code: AccountError.Code, in result: Result<Value, any Error>, _ comment: Comment?,
    _ sourceLocation: SourceLocation
) -> AccountError? {
    let extra = comment.map { ": \($0)" } ?? ""
    switch result {
    case .failure(let error as AccountError) where error.code == code: return error
    case .failure(let error):
        let other = (error as? AccountError).map { "\($0.code)" } ?? "this"
        Issue.record(
            "an AccountError \(code) was expected, and \(other) was thrown: \(error)\(extra)",
            sourceLocation: sourceLocation)
    case .success:
        Issue.record(
            "an AccountError \(code) was expected, and none was thrown\(extra)", sourceLocation: sourceLocation)
    }
    return nil
}
