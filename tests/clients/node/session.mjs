// A session of @kubernetes/client-node: node session.mjs KUBECONFIG NAMESPACE
// Prints one JSON line a step; what is not as it should be is an AssertionError and exit code 1.

import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const [kubeconfig, namespace] = process.argv.slice(2);
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const done = (step, result = null) => console.log(JSON.stringify({ step, result }));
const as = (strategy) => k8s.setHeaderOptions('Content-Type', strategy);
const settings = (name, data) => ({ metadata: { name, labels: { app: 'test' } }, data });

const version = await config.makeApiClient(k8s.VersionApi).getCode();
done('version', version.gitVersion);

const made = await core.createNamespacedConfigMap({ namespace, body: settings('a', { x: '1' }) });
assert.ok(made.metadata.creationTimestamp instanceof Date);
const listed = await core.listNamespacedConfigMap({ namespace, labelSelector: 'app=test', limit: 1 });
assert.deepEqual(listed.items.map((item) => item.metadata.name), ['a']);
done('list');

const informer = k8s.makeInformer(
    config,
    `/api/v1/namespaces/${namespace}/configmaps`,
    () => core.listNamespacedConfigMap({ namespace, labelSelector: 'app=test' }),
    'app=test',
);
const seen = [];
for (const event of ['add', 'update', 'delete']) {
    informer.on(event, (object) => seen.push(`${event} ${object.metadata.name} ${object.data?.x}`));
}
informer.on('error', (error) => seen.push(`error ${error}`));
const connected = new Promise((resolve) => informer.on('connect', resolve));
await informer.start();
await connected;

const first = { name: 'a', namespace };
let patched = await core.patchNamespacedConfigMap({ ...first, body: { data: { x: '2', y: '1' } } }, as(k8s.PatchStrategy.MergePatch));
assert.deepEqual(patched.data, { x: '2', y: '1' });
patched = await core.patchNamespacedConfigMap(
    { ...first, body: [{ op: 'replace', path: '/data/x', value: '3' }] },
    as(k8s.PatchStrategy.JsonPatch),
);
assert.equal(patched.data.x, '3');
patched = await core.patchNamespacedConfigMap(
    { ...first, body: { metadata: { labels: { more: 'yes' } }, data: { y: null } } },
    as(k8s.PatchStrategy.StrategicMergePatch),
);
assert.deepEqual(patched.data, { x: '3' });
assert.deepEqual(patched.metadata.labels, { app: 'test', more: 'yes' });
done('patch');

const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'web', image: 'web:1', env: [{ name: 'A', value: '1' }] }] },
};
const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace },
    spec: { replicas: 1, selector: { matchLabels: { app: 'web' } }, template },
};
const apply = (body, fieldManager, force) =>
    apps.patchNamespacedDeployment(
        { name: 'web', namespace, body, fieldManager, force },
        as(k8s.PatchStrategy.ServerSideApply),
    );
let applied = await apply(deployment, 'node');
assert.equal(applied.metadata.managedFields.find((entry) => entry.operation === 'Apply').manager, 'node');
const other = structuredClone(deployment);
other.spec.template.spec.containers[0].image = 'web:2';
const refused = await apply(other, 'other').then(
    () => assert.fail('no conflict'),
    (error) => error,
);
assert.equal(refused.code, 409);
const status = JSON.parse(refused.body);
assert.match(status.message, /conflict with "node": \.spec\.template\.spec\.containers\[name="web"\]\.image/);
assert.equal(status.details.causes[0].reason, 'FieldManagerConflict');
applied = await apply(other, 'other', true);
assert.equal(applied.spec.template.spec.containers[0].image, 'web:2');
done('apply');

const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace } };
service.spec = { selector: { app: 'web' }, ports: [{ port: 80 }] };
await objects.create(service);
assert.equal((await objects.read(service)).spec.type, 'ClusterIP');
await objects.patch({ ...service, spec: { sessionAffinity: 'ClientIP' } });
assert.equal((await objects.list('v1', 'Service', namespace)).items[0].spec.sessionAffinity, 'ClientIP');
await objects.delete(service);
done('objects of any kind');

const watched = await new Promise((resolve, reject) => {
    const phases = [];
    let stop = () => {};
    new k8s.Watch(config)
        .watch(
            `/api/v1/namespaces/${namespace}/pods`,
            { labelSelector: 'app=web' },
            (type, pod) => {
                phases.push(`${type} ${pod.status.phase}`);
                if (pod.status.phase === 'Running') {
                    resolve(phases);
                    stop();
                }
            },
            (error) => (error && error.name !== 'AbortError' ? reject(error) : undefined),
        )
        .then((controller) => {
            stop = () => controller.abort();
        }, reject);
});
assert.ok(watched[0].startsWith('ADDED '));
done('watch');

await core.createNamespacedConfigMap({ namespace, body: settings('b', { x: '9' }) });
await core.deleteNamespacedConfigMap({ name: 'a', namespace });
const deadline = Date.now() + 15_000;
while (!seen.includes('delete a 3')) {
    assert.ok(Date.now() < deadline, seen.join('; '));
    await new Promise((resolve) => setTimeout(resolve, 20));
}
assert.deepEqual(seen, ['add a 1', 'update a 2', 'update a 3', 'update a 3', 'add b 9', 'delete a 3']);
assert.deepEqual(informer.list().map((item) => item.metadata.name), ['b']);
await informer.stop();
done('informer');

const missing = await core.readNamespacedConfigMap({ name: 'a', namespace }).catch((error) => error);
assert.equal(missing.code, 404);
await apps.deleteNamespacedDeployment({ name: 'web', namespace, propagationPolicy: 'Foreground' });
await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'app=test' });
assert.deepEqual((await core.listNamespacedConfigMap({ namespace, labelSelector: 'app=test' })).items, []);
done('delete');
