#!/usr/bin/env bash
# Every file of deploy/ is read by the program that it is for. Called by .ci/containers, which makes the images.
# Usage: files.sh <scratch directory>
set -euo pipefail
cd "$(dirname "$0")/../.."
scratch=${1:?usage: files.sh <scratch directory>}
tag=${HOOKS_TAG:-ci}
within() { docker run --rm -i -v "$PWD:/repository:ro" -w /repository "hooks-test-$1:$tag" sh -ec "$2"; }
fault() { echo "$*" >&2; exit 1; }

# Compose, both generations, with and without the overlay for a machine that serves.
production=(-f docker-compose.yml -f deploy/docker-compose.production.yml)
refused=$(docker compose "${production[@]}" config -q 2>&1) && fault "the production overlay does without secrets"
grep -q 'set it' <<< "$refused" || fault "the production overlay does not say what to set: $refused"
cat > "$scratch/own.env" <<< "POSTGRES_PASSWORD=a
HOOKS_INGEST_PASSWORD=a
HOOKS_SUBSCRIBE_PASSWORD=a
HOOKS_PUSH_WORKER_PASSWORD=a
HOOKS_INSPECTOR_PASSWORD=a
HOOKS_MAINTENANCE_PASSWORD=a
HOOKS_BOOTSTRAP_TOKEN=a
HOOKS_SECRET_KEYS=a
HOOKS_CONFIG_FILE=./deploy/hooks.production.yaml"
docker compose --env-file .env.example config -q
docker compose --env-file "$scratch/own.env" "${production[@]}" config -q
docker run --rm -v "$PWD:/repository:ro" -v "$scratch/own.env:/own.env:ro" -w /repository "hooks-test-operators:$tag" sh -ec '
docker-compose --env-file .env.example config -q
docker-compose --env-file /own.env -f docker-compose.yml -f deploy/docker-compose.production.yml config -q
echo "read by $(docker-compose version --short), too"'
# What .env.example offers is what the compose files take.
named=$(grep -ohE '\$\{[A-Z_]+' docker-compose.yml deploy/docker-compose.production.yml | tr -d '${' | sort -u)
offered=$(grep -oE '^(# )?[A-Z_]+=' .env.example | tr -d '# =' | sort -u)
for name in $offered; do grep -qx "$name" <<< "$named" || fault ".env.example offers $name, which nothing takes"; done

# Prometheus: syntax, behaviour, and that every alarm has been seen to ring.
within operators 'promtool check rules deploy/prometheus/rules.yml
promtool test rules deploy/prometheus/rules.test.yml
promtool check config --syntax-only deploy/prometheus/prometheus.yml'
for alert in $(sed -n 's/.*- alert: //p' deploy/prometheus/rules.yml); do
  grep -A1 "alertname: $alert\$" deploy/prometheus/rules.test.yml | grep -q exp_alerts || fault "no test lets $alert ring"
done

within operators 'caddy validate --adapter caddyfile --config deploy/proxy/Caddyfile 2>&1 | tail -1
for program in hooks-ingest hooks-subscribe hooks-inspector hooks-push-worker hooksctl; do cp /bin/true /usr/bin/$program; done
systemd-analyze verify deploy/systemd/*.service
systemd-analyze security --offline=true --no-pager --threshold=15 deploy/systemd/*.service > /tmp/exposure \
  || { cat /tmp/exposure; exit 1; }
grep "Overall exposure" /tmp/exposure'

# The configurations: each by every service, with stand-ins for the secrets.
mkdir -p "$scratch/secrets/hooks/providers"
echo example | tee "$scratch/secrets/github_webhook_secret" "$scratch/secrets/hooks/providers/github" >/dev/null
for file in hooks.yaml hooks.production.yaml kubernetes/example/hooks.yaml; do
  for service in ingest subscribe push-worker inspector; do
    docker run --rm -v "$PWD/deploy:/deploy:ro" -v "$scratch/secrets:/run/secrets:ro" -e HOOKS_DATABASE_URL=postgres://u@h/x \
      -e DEMO_WEBHOOK_SECRET=whsec_c2VjcmV0 -e GITHUB_WEBHOOK_SECRET=x -e RENDER_WEBHOOK_SECRET=whsec_c2VjcmV0 \
      -e STRIPE_WEBHOOK_SECRET=whsec_x "hooks-$service:$tag" --check-config --config "/deploy/$file" >/dev/null
  done
  echo "deploy/$file: every service reads it"
done
