//! The Kubernetes objects as kustomize builds them: what one names, another has. Nothing is started.

use crate::engine::docker;
use crate::report::say;
use crate::stack::{image, repository};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const OVERLAY: &str = "deploy/kubernetes/example";
/// YAML in, a JSON array of its documents out.
const TO_JSON: &str = "import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)";
/// Who takes requests from outside.
const PUBLIC: [&str; 3] = ["ingest", "inspector", "subscribe"];

/// Selectors, ports, keys, mounts, policies and security contexts of the example overlay.
pub async fn kubernetes_objects_fit_together() {
    let mount = format!("{}:/repository:ro", repository().display());
    let build = format!("kustomize build {OVERLAY} | python3 -c '{TO_JSON}'");
    let words = ["run", "--rm", "-v", &mount, "-w", "/repository", &image("pgbouncer"), "sh", "-ec", &build];
    let objects = Objects(serde_json::from_str(&docker(&words).await).expect("a JSON array"));
    say(format_args!("{} objects", objects.0.len()));
    for workload in objects.workloads() {
        is_restricted(workload);
        probes_and_selectors_fit(workload);
        files_are_mounted(&objects, workload);
    }
    services_and_their_like_have_targets(&objects);
    policies_allow_what_is_needed_and_no_more(&objects);
}

struct Objects(Vec<Value>);

impl Objects {
    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |object| object["kind"] == kind)
    }

    /// What makes pods.
    fn workloads(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(|object| object["kind"] == "Deployment" || object["kind"] == "Job")
    }

    fn named(&self, kind: &'static str, name: &Value) -> &Value {
        self.of_kind(kind)
            .find(|object| object["metadata"]["name"] == *name)
            .unwrap_or_else(|| panic!("no {kind} is called {name}"))
    }

    /// The pods that a selector of labels means.
    fn selected<'a>(&'a self, selector: &Value) -> Vec<&'a Value> {
        self.workloads().filter(|workload| selects(selector, labels(workload))).collect()
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn pod(workload: &Value) -> &Value {
    &workload["spec"]["template"]["spec"]
}

fn labels(workload: &Value) -> &Value {
    &workload["spec"]["template"]["metadata"]["labels"]
}

fn component(workload: &Value) -> &str {
    text(&labels(workload)["app.kubernetes.io/component"])
}

/// `matchLabels` and the operator `In` of `matchExpressions`; an empty selector means every pod.
fn selects(selector: &Value, labels: &Value) -> bool {
    let all = selector["matchLabels"].as_object().into_iter().flatten();
    let listed = list(&selector["matchExpressions"]).all(|expression| {
        assert_eq!(expression["operator"], "In", "{expression}");
        list(&expression["values"]).any(|value| labels[text(&expression["key"])] == *value)
    });
    all.into_iter().all(|(key, value)| labels[key] == *value) && listed
}

/// A container port, by name or number.
fn has_port(workload: &Value, port: &Value) -> bool {
    list(&pod(workload)["containers"])
        .flat_map(|container| list(&container["ports"]))
        .any(|known| known["name"] == *port || known["containerPort"] == *port)
}

/// The restricted pod standard, and more: a read-only root, no token of the cluster, bounded memory.
fn is_restricted(workload: &Value) {
    let (name, pod) = (component(workload), pod(workload));
    let of_pod = &pod["securityContext"];
    assert_eq!(of_pod["runAsNonRoot"], true, "{name}");
    assert_eq!(of_pod["seccompProfile"]["type"], "RuntimeDefault", "{name}");
    assert_eq!(pod["automountServiceAccountToken"], false, "{name}");
    for container in list(&pod["containers"]) {
        let context = &container["securityContext"];
        assert_eq!(context["allowPrivilegeEscalation"], false, "{name}");
        assert_eq!(context["readOnlyRootFilesystem"], true, "{name}");
        assert_eq!(context["capabilities"], serde_json::json!({"drop": ["ALL"]}), "{name}");
        assert!(container["resources"]["limits"]["memory"].is_string(), "{name}: no limit of memory");
        assert!(container["resources"]["requests"]["cpu"].is_string(), "{name}: no request of CPU");
        assert!(
            text(&container["image"]).starts_with("registry.example.com/"),
            "{name}: the overlay's image"
        );
    }
}

fn probes_and_selectors_fit(workload: &Value) {
    let name = component(workload);
    if workload["kind"] != "Deployment" {
        return;
    }
    assert!(selects(&workload["spec"]["selector"], labels(workload)), "{name}: its own pods");
    for spread in list(&pod(workload)["topologySpreadConstraints"]) {
        assert!(selects(&spread["labelSelector"], labels(workload)), "{name}: the pods to spread");
    }
    for container in list(&pod(workload)["containers"]) {
        for (probe, path) in
            [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
        {
            let get = &container[probe]["httpGet"];
            assert_eq!(get["path"], path, "{name} {probe}");
            assert!(has_port(workload, &get["port"]), "{name}: {probe} asks a port that it has not");
        }
    }
    let scraped = &workload["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"];
    let scraped: Value = text(scraped).parse::<u16>().expect("a port").into();
    assert!(has_port(workload, &scraped), "{name}: Prometheus is sent to a port that it has not");
}

/// Whatever file a variable or a URL names is in a volume of that pod, out of a key that somebody makes.
fn files_are_mounted(objects: &Objects, workload: &Value) {
    let (name, documented) = (component(workload), documented_secrets());
    let mut files = BTreeSet::new();
    for container in list(&pod(workload)["containers"]) {
        for mount in list(&container["volumeMounts"]) {
            assert_eq!(mount["readOnly"], true, "{name}: {mount}");
            let volume = list(&pod(workload)["volumes"])
                .find(|volume| volume["name"] == mount["name"])
                .unwrap_or_else(|| panic!("{name}: no volume {}", mount["name"]));
            for file in files_of(objects, volume, &documented) {
                files.insert(format!("{}/{file}", text(&mount["mountPath"])));
            }
        }
        for variable in list(&container["env"]) {
            let value = match &variable["valueFrom"]["configMapKeyRef"] {
                Value::Null => text(&variable["value"]),
                key => text(&objects.named("ConfigMap", &key["name"])["data"][text(&key["key"])]),
            };
            let named = match text(&variable["name"]).ends_with("_FILE") {
                true => Some(value),
                false => value.split_once("password_file=").map(|(_, file)| file),
            };
            if let Some(file) = named {
                assert!(files.contains(file), "{name}: {} is in none of {files:?}", variable["name"]);
            }
        }
    }
    assert!(
        workload["kind"] == "Job" || files.contains("/etc/hooks/hooks.yaml"),
        "{name}: its configuration"
    );
}

fn files_of(
    objects: &Objects,
    volume: &Value,
    documented: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<String> {
    if let Some(map) = volume["configMap"]["name"].as_str() {
        let data = objects.named("ConfigMap", &map.into())["data"].as_object().expect("data");
        return data.keys().cloned().collect();
    }
    let secret = text(&volume["secret"]["secretName"]);
    let keys = documented.get(secret).unwrap_or_else(|| panic!("nobody is told to make the Secret {secret}"));
    if volume["secret"]["items"].is_null() {
        return keys.iter().cloned().collect();
    }
    let item = |item: &Value| {
        assert!(keys.contains(text(&item["key"])), "{secret} is to have no key {}", item["key"]);
        text(&item["path"]).to_owned()
    };
    list(&volume["secret"]["items"]).map(item).collect()
}

/// The Secrets and their keys that the overlay's comment has people make.
fn documented_secrets() -> BTreeMap<String, BTreeSet<String>> {
    let file = repository().join(OVERLAY).join("kustomization.yaml");
    let text = std::fs::read_to_string(file).expect("the overlay");
    let mut secrets: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut words = text.split_whitespace();
    let mut secret = None;
    while let Some(word) = words.next() {
        match word.strip_prefix("--from-file=") {
            Some(key) => {
                _ = secrets.entry(secret.clone().expect("a name")).or_default().insert(key.to_owned())
            }
            None if word == "generic" => secret = words.next().map(str::to_owned),
            None => {}
        }
    }
    secrets
}

fn services_and_their_like_have_targets(objects: &Objects) {
    let mut reachable = BTreeSet::new();
    for service in objects.of_kind("Service") {
        let selector = serde_json::json!({"matchLabels": service["spec"]["selector"]});
        let [target] = objects.selected(&selector)[..] else { panic!("{service}: not one target") };
        for port in list(&service["spec"]["ports"]) {
            assert!(has_port(target, &port["targetPort"]), "{service}");
        }
        reachable.insert(component(target));
    }
    assert_eq!(reachable, BTreeSet::from(PUBLIC));
    for budget in objects.of_kind("PodDisruptionBudget") {
        assert_eq!(objects.selected(&budget["spec"]["selector"]).len(), 1, "{budget}");
    }
    let deployments = objects.of_kind("Deployment").count();
    assert_eq!(objects.of_kind("PodDisruptionBudget").count(), deployments, "a budget each");
    for scaler in objects.of_kind("HorizontalPodAutoscaler") {
        let target = objects.named("Deployment", &scaler["spec"]["scaleTargetRef"]["name"]);
        assert!(target["spec"]["replicas"].is_null(), "the autoscaler alone sets replicas");
    }
    let mut paths = BTreeMap::new();
    for path in objects
        .of_kind("Ingress")
        .flat_map(|one| list(&one["spec"]["rules"]))
        .flat_map(|rule| list(&rule["http"]["paths"]))
    {
        let backend = &path["backend"]["service"];
        let service = objects.named("Service", &backend["name"]);
        assert!(
            list(&service["spec"]["ports"]).any(|port| port["name"] == backend["port"]["name"]),
            "{path}"
        );
        paths.insert(text(&path["path"]), text(&backend["name"]));
    }
    let wanted = [("/", "hooks-inspector"), ("/ingest", "hooks-ingest"), ("/subscribe", "hooks-subscribe")];
    assert_eq!(paths, BTreeMap::from(wanted));
}

/// Per pod: from whom to which ports it takes connections, and what it may open itself.
fn policies_allow_what_is_needed_and_no_more(objects: &Objects) {
    for workload in objects.workloads() {
        let name = component(workload);
        let policies: Vec<_> = objects
            .of_kind("NetworkPolicy")
            .filter(|policy| selects(&policy["spec"]["podSelector"], labels(workload)))
            .map(|policy| &policy["spec"])
            .collect();
        for direction in ["Ingress", "Egress"] {
            let decides = |policy: &&Value| list(&policy["policyTypes"]).any(|kind| kind == direction);
            assert!(policies.iter().any(decides), "{name}: {direction} is open to all");
        }
        let rules = |direction: &str, peer: &str| -> BTreeSet<String> {
            let all = policies.iter().flat_map(|policy| list(&policy[direction]));
            all.flat_map(|rule| {
                let peers = list(&rule[peer]).map(peer_name).collect::<Vec<_>>().join("+");
                let peers = if peers.is_empty() { "anybody".to_owned() } else { peers };
                let ports: Vec<_> = list(&rule["ports"]).map(|port| port["port"].to_string()).collect();
                match ports.is_empty() {
                    true => vec![format!("{peers}:any")],
                    false => ports.iter().map(|port| format!("{peers}:{}", port.trim_matches('"'))).collect(),
                }
            })
            .collect()
        };
        let mut ingress = BTreeSet::from(["monitoring:admin".to_owned()]);
        if PUBLIC.contains(&name) {
            ingress.insert("ingress-nginx:http".to_owned());
        }
        assert_eq!(rules("ingress", "from"), ingress, "{name}");
        let mut egress = BTreeSet::from(["anybody:5432".to_owned(), "kube-system:53".to_owned()]);
        match name {
            "ingest" => _ = egress.insert("internet:443".to_owned()),
            "push-worker" => _ = egress.insert("internet:any".to_owned()),
            _ => {}
        }
        assert_eq!(rules("egress", "to"), egress, "{name}");
    }
}

/// A namespace's name, or `internet`: everything but what is private.
fn peer_name(peer: &Value) -> String {
    if let Some(block) = peer.get("ipBlock") {
        assert_eq!(block["cidr"], "0.0.0.0/0");
        let except: BTreeSet<&str> = list(&block["except"]).map(text).collect();
        for inner in ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10"] {
            assert!(except.contains(inner), "{inner} is within reach");
        }
        return "internet".to_owned();
    }
    text(&peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"]).to_owned()
}
