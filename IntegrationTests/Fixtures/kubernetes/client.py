"""Lists the pods of the namespace `default` with the official client: client.py KUBECONFIG

The client logs errors of its credential plugin to standard error.
"""

import logging
import sys

from kubernetes import client, config

logging.basicConfig(level=logging.ERROR, format="%(message)s")
config.load_kube_config(config_file=sys.argv[1])
try:
    pods = client.CoreV1Api().list_namespaced_pod("default", _request_timeout=60)
except client.ApiException as error:
    sys.exit(f"the server said {error.status}")
for pod in pods.items:
    print(pod.metadata.name)
