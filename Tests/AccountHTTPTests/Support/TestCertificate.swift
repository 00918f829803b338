import NIOSSL

/// A self-signed certificate that is valid from 2024 to 2123, so that the tests need no program to create one. The key
/// protects nothing.
struct TestCertificate {
    /// The certificate of `localhost`.
    static let localhost = """
        -----BEGIN CERTIFICATE-----
        MIIBeDCCAR6gAwIBAgIBATAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDAR0ZXN0MCAX
        DTI0MDEwMTAwMDAwMFoYDzIxMjQwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDAR0ZXN0
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEbdQuxuiS3bevO8ytKsD8Y+WxTzY0
        skDeb2dVQUVRxxARPID8QIcOr3eclMAWbX9rxPEYdSD6NYCwDuBr5EOuiqNpMGcw
        HQYDVR0OBBYEFCUq7a7F6cvaS/jzpUnPj1YMDBzwMB8GA1UdIwQYMBaAFCUq7a7F
        6cvaS/jzpUnPj1YMDBzwMA8GA1UdEwEB/wQFMAMBAf8wFAYDVR0RBA0wC4IJbG9j
        YWxob3N0MAoGCCqGSM49BAMCA0gAMEUCIQCVLOhPXaGcNETPcHCh/YRd2Ke3bXtm
        39iagL7xu1fSyQIgQ7TVc0niDlz0bZaQ3JlpbVGx2UpH4FBDdYXRKHR942A=
        -----END CERTIFICATE-----
        """

    /// The certificate of `other.example`, with the same key.
    static let otherExample = """
        -----BEGIN CERTIFICATE-----
        MIIBfDCCASKgAwIBAgIBAjAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDDAR0ZXN0MCAX
        DTI0MDEwMTAwMDAwMFoYDzIxMjQwMTAxMDAwMDAwWjAPMQ0wCwYDVQQDDAR0ZXN0
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEbdQuxuiS3bevO8ytKsD8Y+WxTzY0
        skDeb2dVQUVRxxARPID8QIcOr3eclMAWbX9rxPEYdSD6NYCwDuBr5EOuiqNtMGsw
        HQYDVR0OBBYEFCUq7a7F6cvaS/jzpUnPj1YMDBzwMB8GA1UdIwQYMBaAFCUq7a7F
        6cvaS/jzpUnPj1YMDBzwMA8GA1UdEwEB/wQFMAMBAf8wGAYDVR0RBBEwD4INb3Ro
        ZXIuZXhhbXBsZTAKBggqhkjOPQQDAgNIADBFAiEAoWrLgyIaji/w3g0jp5125PlY
        l4cuvJkwu0lL8a4g7rECIDdsrWyta4+OSz4TB9DwSlkpVNew2a86JvHyw2ikQZk9
        -----END CERTIFICATE-----
        """

    /// The certificate of the address 127.0.0.1, with the same key.
    static let loopbackAddress = """
        -----BEGIN CERTIFICATE-----
        MIIBUTCB+KADAgECAgEDMAoGCCqGSM49BAMCMA8xDTALBgNVBAMMBHRlc3QwIBcN
        MjQwMTAxMDAwMDAwWhgPMjEyNDAxMDEwMDAwMDBaMA8xDTALBgNVBAMMBHRlc3Qw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARt1C7G6JLdt687zK0qwPxj5bFPNjSy
        QN5vZ1VBRVHHEBE8gPxAhw6vd5yUwBZtf2vE8Rh1IPo1gLAO4GvkQ66Ko0MwQTAd
        BgNVHQ4EFgQUJSrtrsXpy9pL+POlSc+PVgwMHPAwDwYDVR0TAQH/BAUwAwEB/zAP
        BgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0gAMEUCIQCFDoIhOkGmWnSpBV0w
        4Ep+hZ4qp8Xr405sF/0/mKq6pAIgZJgheeR+KvtPybDOiOnKuMpl058N8HmjL6QT
        lX2XbKk=
        -----END CERTIFICATE-----
        """

    /// A certificate without alternative names, whose common name is `localhost`, with the same key.
    static let commonName = """
        -----BEGIN CERTIFICATE-----
        MIIBSjCB8aADAgECAgEEMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWxvY2FsaG9z
        dDAgFw0yNDAxMDEwMDAwMDBaGA8yMTI0MDEwMTAwMDAwMFowFDESMBAGA1UEAwwJ
        bG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEbdQuxuiS3bevO8yt
        KsD8Y+WxTzY0skDeb2dVQUVRxxARPID8QIcOr3eclMAWbX9rxPEYdSD6NYCwDuBr
        5EOuiqMyMDAwHQYDVR0OBBYEFCUq7a7F6cvaS/jzpUnPj1YMDBzwMA8GA1UdEwEB
        /wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgZlEEYJsRFymZU9vqusdBDJdLwjQL
        Pf8uGiUde4BKhecCIQCtK98wlJ0UYsPd1eDjV31CtQMxT9cnc1EwGitZobE+6g==
        -----END CERTIFICATE-----
        """

    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgF83GTWdJvRQm0gH1
        e5+i25ayVNo5PCCVIJZMMuRgLUmhRANCAARt1C7G6JLdt687zK0qwPxj5bFPNjSy
        QN5vZ1VBRVHHEBE8gPxAhw6vd5yUwBZtf2vE8Rh1IPo1gLAO4GvkQ66K
        -----END PRIVATE KEY-----
        """

    let certificate: NIOSSLCertificate

    /// Reads a certificate in PEM form, such as ``localhost``.
    init(_ certificate: String) throws {
        self.certificate = try NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem)
    }

    /// The TLS context of a server with this certificate.
    func serverContext() throws -> NIOSSLContext {
        let key = try NIOSSLPrivateKey(bytes: Array(Self.key.utf8), format: .pem)
        return try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)], privateKey: .privateKey(key)))
    }
}
