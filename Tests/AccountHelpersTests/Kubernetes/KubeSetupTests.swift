import AccountKit
import Testing

@testable import AccountCommands
@testable import AccountHelpers

/// The findings of `doctor` about a kubeconfig.
@Suite struct KubeSetupTests {
    private static let written = """
        apiVersion: v1
        clusters:
        - cluster:
            server: https://k8s.example:6443
          name: c
        contexts:
        - context:
            cluster: c
            user: work
          name: c
        current-context: c
        kind: Config
        preferences: {}
        users:
        - name: work
          user:
            exec:
              apiVersion: client.authentication.k8s.io/v1
              args:
              - kube-credential
              - --session=work
              command: /usr/local/bin/account
              env:
              - name: ACCOUNT_HOME
                value: /srv/account
              interactiveMode: Never
              provideClusterInfo: true
        - name: admin
          user:
            client-certificate-data: REDACTED
        - name: cloud
          user:
            exec:
              apiVersion: client.authentication.k8s.io/v1beta1
              command: cloud-auth
        """

    private static let cloud = KubeSetup.User(name: "cloud", command: "cloud-auth")
    private static let work = KubeSetup.User(
        name: "work", command: "/usr/local/bin/account", arguments: ["kube-credential", "--session=work"],
        namesCluster: true)

    @Test func `Finds the users in a kubeconfig that kubectl wrote`() {
        #expect(KubeSetup(Array(Self.written.utf8)).users == [Self.work, Self.cloud])
    }

    @Test func `Finds the users in a kubeconfig that was edited by hand`() {
        let text = """
            # mine
            "users":

              - user:
                  exec:   # a plugin
                    command: "account"
                    args: ["kube-credential", '--session', work]
                    # not a user
                    env: []
                name: 'work'   # of the office
              -
                name: other
                user: {token: s3cret}
            contexts:
              - name: x
                context: {exec: {command: account}}
            """
        #expect(
            KubeSetup(Array(text.utf8)).users == [
                .init(name: "work", command: "account", arguments: ["kube-credential", "--session", "work"])
            ])
    }

    @Test func `Finds the users in a kubeconfig in JSON`() {
        let text = """
            {"kind":"Config","users":[{"name":"work","user":{"exec":{"command":"/usr/local/bin/account","args":\
            ["kube-credential","--session=work"],"provideClusterInfo":true}}},{"name":"none","user":{}},{"name":"cloud","user":{"exec":{"command":\
            "cloud-auth"}}},1]}
            """
        #expect(KubeSetup(Array(text.utf8)).users == [Self.work, Self.cloud])
    }

    @Test(arguments: [
        "", "users:", "users: []", "users:\n-", "users:\n- name", "- a\n- b", "\0", "{\"users\":1}", ":\n:",
    ])
    func `Finds no users in a kubeconfig without users`(text: String) {
        #expect(KubeSetup(Array(text.utf8)).users == [])
    }

    @Test func `Reads the session of a kubeconfig user, with or without the option`() {
        #expect(Self.work.session == "work")
        #expect(KubeSetup.User(arguments: ["kube-credential", "--session", "x"]).session == "x")
        #expect(KubeSetup.User(arguments: ["kube-credential", "--session"]).session == nil)
        #expect(KubeSetup.User(arguments: ["kube-credential"]).session == nil)
    }

    @Test func `Reports a kubeconfig user whose program is missing as a problem`() {
        func findings(_ config: String, tool: String = "account", installed: String) -> [Finding] {
            KubeSetup(Array(config.utf8)).findings(
                path: "/home/alice/.kube/config",
                ProgramSurroundings(
                    tool: tool, rules: RuleSet(), isInstalled: { $0 == installed || $0 == "/opt/other/account" },
                    isSameFile: { $0 == installed }))
        }
        let good = findings(Self.written, installed: "/usr/local/bin/account")
        #expect(good.map(\.isNote) == [true])
        #expect(good[0].problem.contains("the user work (/home/alice/.kube/config)"))
        let gone = findings(Self.written, installed: "account")
        #expect(gone.map(\.isNote) == [false])
        #expect(gone[0].problem.contains("/usr/local/bin/account"))
        #expect(gone[0].advice.contains("kubectl config set-credentials work"))
        // Without the name of the cluster, the kubeconfig user gets no token.
        let unnamed = Self.written.replacing("provideClusterInfo: true", with: "provideClusterInfo: false")
        let nameless = findings(unnamed, installed: "/usr/local/bin/account")
        #expect(nameless.map(\.isNote) == [false])
        #expect(nameless[0].advice.contains("`kubectl config set-credentials work --exec-provide-cluster-info`"))
        let any = unnamed.replacing("- --session=work", with: "- --any-cluster")
        #expect(findings(any, installed: "/usr/local/bin/account").map(\.isNote) == [true])
        // The program's path is relative to the folder of the kubeconfig.
        let relative = Self.written.replacing("/usr/local/bin/account", with: "./bin/account")
        #expect(findings(relative, installed: "/home/alice/.kube/./bin/account").map(\.isNote) == [true])
        // Another program with the same name.
        let other = Self.written.replacing("/usr/local/bin/account", with: "/opt/other/account")
        #expect(findings(other, installed: "/usr/local/bin/account").isEmpty)
        // A tool that has these commands under a subcommand.
        #expect(findings(Self.written, tool: "gists account", installed: "gists").isEmpty)
        let gists = Self.written.replacing("/usr/local/bin/account", with: "gists")
            .replacing("- kube-credential", with: "- account\n      - kube-credential")
        #expect(findings(gists, tool: "gists account", installed: "gists").map(\.isNote) == [true])
    }
}
