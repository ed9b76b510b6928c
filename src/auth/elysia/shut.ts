import { type Instance, type Route, rootOf, storesOf } from './instance.ts';
import { undecided } from './seal.ts';

/**
 * Answers these routes of an instance with 500 from now on, in every application that has taken them over and however that is
 * served. Where the application cannot be reached, the error is thrown outside of Elysia, which would only print it.
 */
export function refuseToServe(instance: Instance, routes: readonly Route[], error: Error): void {
  const handlers = new Set(routes.map(({ handler }) => handler));
  const root = rootOf(instance);
  const isCallbackOfGuard = root === instance && Object.hasOwn(instance, 'getServer');
  if (isCallbackOfGuard && routes.length > 0)
    queueMicrotask(() => {
      throw error;
    });
  for (const app of instancesTo(root, instance))
    for (const route of app.router.history) if (handlers.has(route.handler)) shutRoute(app, route);
}

/** Returns the instances from one to the root of its application. */
function instancesTo(root: Instance, instance: Instance): ReadonlySet<Instance> {
  const instances = new Set([root]);
  for (let app: Instance | null | undefined = instance; app; app = app.getParent()) instances.add(app);
  return instances;
}

function shutRoute(app: Instance, route: Route): void {
  for (const store of storesOf(app, route))
    if (store.route === undefined || store.route === route.path)
      Object.assign(store, { handler: undecided, compile: () => undecided, handle: undecided, hooks: {} });
  for (const path of [route.path, `${route.path}/`, route.path.replace(/\/$/, '')]) delete app.router.response[path];
  Object.defineProperty(route, 'composed', { get: () => undecided, set() {}, enumerable: true, configurable: true });
  Object.assign(route, { handler: undecided, compile: () => undecided, hooks: {} });
}
