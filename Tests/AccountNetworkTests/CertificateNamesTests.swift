import AccountSupport
import Testing

@testable import AccountNetwork

/// The promise: a certificate counts only for the host names and addresses that it contains (RFC 9525).
struct CertificateNamesTests {
    static let accepted: [(names: [String], host: String)] = [
        (["api.example.com"], "api.example.com"),
        (["other.example", "api.example.com"], "api.example.com"),
        (["API.Example.COM"], "api.example.com"),
        (["api.example.com"], "API.EXAMPLE.COM"),
        (["api.example.com."], "api.example.com"),
        (["api.example.com"], "api.example.com."),
        (["*.example.com"], "api.example.com"),
        // A name in another script is compared in its ASCII form (RFC 5890, section 2.3.2.1).
        (["xn--bcher-kva.example"], "xn--bcher-kva.example"),
        (["*.bank.example"], "xn--bcher-kva.bank.example"),
        (["localhost"], "localhost"),
        (["127.0.0.1"], "127.0.0.1"),
        (["::1"], "[::1]"),
        (["2001:db8::1"], "[2001:DB8:0:0:0:0:0:1]"),
    ]

    static let refused: [(names: [String], host: String)] = [
        ([], "api.example.com"),
        // An address in the certificate, and a name in the URL.
        (["203.0.113.7"], "api.example.com"),
        (["127.0.0.1"], "localhost"),
        // Another address.
        (["203.0.113.8"], "203.0.113.7"),
        (["::2"], "[::1]"),
        (["::ffff:127.0.0.1"], "127.0.0.1"),
        (["example.com"], "api.example.com"),
        (["api.example.com"], "example.com"),
        (["api.example.com.evil.example"], "api.example.com"),
        // A wildcard represents exactly one complete label.
        (["*.example.com"], "a.b.example.com"),
        (["*.example.com"], "example.com"),
        (["*.example.com"], ".example.com"),
        (["*.*.example.com"], "a.b.example.com"),
        (["api.*.com"], "api.example.com"),
        (["a*.example.com"], "api.example.com"),
        (["*i.example.com"], "api.example.com"),
        (["xn--*.example.com"], "xn--bcher-kva.example.com"),
        // A wildcard for all names below a top-level domain.
        (["*.com"], "example.com"),
        (["*"], "localhost"),
        (["*.0.0.1"], "127.0.0.1"),
        (["bücher.example"], "xn--bcher-kva.example"),
    ]

    private func names(_ texts: [String]) -> CertificateNames {
        CertificateNames(
            hosts: texts.filter { IPAddress($0) == nil }, addresses: texts.compactMap { IPAddress($0) })
    }

    @Test(arguments: accepted)
    func `Accepts the names and addresses of a certificate`(texts: [String], host: String) {
        #expect(names(texts).contain(host))
    }

    @Test(arguments: refused)
    func `Refuses a certificate for another host`(texts: [String], host: String) {
        #expect(!names(texts).contain(host))
    }

    @Test func `Does not take an address for a name`() {
        #expect(!CertificateNames(hosts: ["127.0.0.1"]).contain("127.0.0.1"))
    }
}
