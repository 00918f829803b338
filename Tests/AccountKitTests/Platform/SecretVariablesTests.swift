import Testing

@testable import AccountKit

/// The variables that each kind of program must not get. The test of the built command starts each of these programs.
struct SecretVariablesTests {
    private static let tokens: Set = [
        "ACCOUNT_TOKEN", "NOTES_TOKEN", "ACCOUNT_CLIENT_SECRET", "NOTES_CLIENT_SECRET",
    ]
    private static let archives: Set = [
        "ACCOUNT_KEY", "NOTES_KEY", "ARCHIVE_KEY", "ETCDCTL_USER", "ETCDCTL_PASSWORD", "ETCDCTL_KEY", "ETCDCTL_CERT",
    ]
    private static let keySources: Set = ["ACCOUNT_PASSPHRASE", "NOTES_PASSPHRASE", "CREDENTIALS_DIRECTORY"]

    @Test(
        arguments: [
            (.other, tokens.union(archives).union(keySources)), (.key, tokens.union(archives)),
        ] as [(SecretVariables.Purpose, Set<String>)])
    func `Hides the secrets of the app and of its store from each program`(
        purpose: SecretVariables.Purpose, names: Set<String>
    ) {
        var owners = SecretVariables.Owners()
        owners.prefixes.insert("NOTES")
        owners.keys.insert("ARCHIVE_KEY")
        #expect(owners.names(hiddenFrom: purpose) == names)
    }

    @Test func `Hides the variable of a key as soon as an app names it`() {
        let before = SecretVariables.names(hiddenFrom: .other)
        #expect(before.contains("ACCOUNT_KEY") && !before.contains("SECRET_VARIABLES_TESTS"))
        _ = EnvironmentKey(variable: "SECRET_VARIABLES_TESTS", credential: "x")
        #expect(SecretVariables.names(hiddenFrom: .other).contains("SECRET_VARIABLES_TESTS"))
    }
}
