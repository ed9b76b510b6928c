import { securityOf } from '../guard/security-schemes.ts';

/** What was written here, and not by the application. A parent of the route may have a guard of its own. */
const written = new WeakSet<object>();

/** Adds to what a document says about a guarded route how clients may call it, unless the application says it itself. */
export function documentSecurity(hooks: Record<string, unknown>, ...route: Parameters<typeof securityOf>): void {
  const { security = undefined, ...others } = Object(hooks.detail);
  if (security !== undefined && !written.has(security)) return;
  // When a document is made, an application has said whether there is a token endpoint.
  const get = () => {
    const required = securityOf(...route);
    written.add(required);
    return required;
  };
  hooks.detail = Object.defineProperty(others, 'security', { get, enumerable: true });
}
