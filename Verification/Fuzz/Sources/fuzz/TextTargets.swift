@testable import AccountHTTP
import AccountKit
import Foundation
import HTTPTypes
import AccountCrypto
import AccountSupport

let textTargets = [
    FuzzTarget(name: "id-token", body: { readIDToken($0) }),
    FuzzTarget(name: "date", body: { readDate($0) }),
]

private func readIDToken(_ bytes: [UInt8]) {
    guard !bytes.isEmpty, let issuer = try? Issuer("https://login.example.com") else { return }
    // Test the bytes both unchanged and as the payload of a token, so that the fuzzer need not discover Base64.
    let payload = Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        .replacing("=", with: "")
    let response = ServiceResponse(200, .date, [])
    for token in [Secret(bytes: bytes), Secret("e30.\(payload).c2ln")] {
        if let expiry = TokenExpiry.date(in: [:], accessToken: token, response: response) {
            promise(expiry > now && expiry <= now.addingTimeInterval(10 * 365 * 86_400), "an expiry is plausible")
        }
        if let identity = IDToken(token)?.identity {
            promise(!identity.id.isEmpty, "a user has an identifier")
            promiseRoundTrip(
                of: Account(
                    id: identity.id, username: identity.username,
                    credentials: Credentials(accessToken: token, issuedAt: now), profile: identity.profile))
        }
        guard let idToken = IDToken(token) else { continue }
        do throws(AuthorityError) {
            try idToken.check(issuer: issuer, clientID: "fuzz", nonce: "n", at: now)
            promise(idToken.claims["nonce"] == .string("n"), "a token of another sign-in is refused")
        } catch {
            promise(clearings(on: error).isEmpty, "an ID token ends no session")
        }
    }
}

private func readDate(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let response = ServiceResponse(503, .retryAfter, [text])
    if let wait = RetryAfter.duration(in: response) {
        promise(wait >= .zero && wait <= .seconds(RetryAfter.limit), "between nothing and a day")
    }
    guard let date = HTTPDate.date(from: text) else { return }
    promise(
        date > Date(timeIntervalSince1970: -62_200_000_000) && date < Date(timeIntervalSince1970: 253_500_000_000),
        "a year of four digits")
    // Before this date, Foundation uses the Julian calendar.
    guard date > Date(timeIntervalSince1970: -12_219_292_800) else { return }
    promise(HTTPDate.date(from: written(date)) == date, "\(date) is read as it is written")
}

/// Formats a date in the preferred format of RFC 9110, section 5.6.7, with the weekday from Foundation's calendar.
private func written(_ date: Date) -> String {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = .gmt
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
    let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][parts.month! - 1]
    return String(
        format: "Sun, %02d \(month) %04d %02d:%02d:%02d GMT", parts.day!, parts.year!, parts.hour!, parts.minute!,
        parts.second!)
}
