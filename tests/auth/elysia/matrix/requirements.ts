import { type AnyElysia, Elysia } from 'elysia';

export const SCOPE = 'read:messages';
/** What all tokens of the matrix grant, also those without {@link SCOPE}. */
export const EASY = 'easy';

type Options = Readonly<Record<string, unknown>>;
export type AddRoute = (app: AnyElysia, options: object) => AnyElysia;
/** A requirement, each time as a new object, because Elysia changes it. */
type Requirement = () => Options;

const grants = (scope: string) => (context: object) =>
  String((context as { readonly claims?: { readonly scope?: unknown } }).claims?.scope)
    .split(' ')
    .includes(scope);

/** What a requirement is: one that a token without the scope does not meet. */
const kinds: Readonly<Record<string, (scope: string) => Options>> = {
  scope: (scope) => ({ scope }),
  list: (scope) => ({ scope: [scope] }),
  'scope function': (scope) => ({ scope: () => scope }),
  authorize: (scope) => ({ authorize: grants(scope) }),
};

/** What stands beside a requirement in one object. */
const neighbours: Readonly<Record<string, (options: Options) => Options>> = {
  nothing: (options) => options,
  'a macro that is off after it': (options) => ({ ...options, off: false }),
  'a macro that is off before it': (options) => ({ off: false, ...options }),
  'a macro of nothing before it': (options) => ({ nothing: true, ...options }),
  'a falsy option before it': (options) => ({ perMessageDeflate: false, ...options }),
  'a requirement that is met before it': (options) =>
    'scope' in options ? { authorize: () => true, ...options } : { scope: EASY, ...options },
};

interface Named {
  readonly needed: Requirement;
  /** Of the same kind. Every token meets it. */
  readonly easy: Requirement;
  readonly beside: (options: Options) => Options;
  readonly guard: () => AnyElysia;
}

const places: Readonly<Record<string, (app: AnyElysia, add: AddRoute, named: Named) => AnyElysia>> = {
  route: (app, add, { needed, beside }) => add(app, beside(needed())),
  'route behind guard()': (app, add, { needed, easy, beside }) => add(app.guard(easy()), beside(needed())),
  'guard()': (app, add, { needed, beside }) => add(app.guard(beside(needed())), {}),
  'guard() before a route': (app, add, { needed, easy, beside }) => add(app.guard(beside(needed())), easy()),
  'guard() with a callback': (app, add, { needed, beside }) => app.guard(beside(needed()), (inner) => add(inner, {})),
  'group()': (app, add, { needed, beside }) => app.group('', beside(needed()), (inner) => add(inner, {})),
  macro: (app, add, { needed, beside }) => add(app.macro({ needed }), beside({ needed: true })),
  'macro that is an object': (app, add, { needed, beside }) =>
    add(app.macro({ needed: needed() }), beside({ needed: true })),
  'macro in guard()': (app, add, { needed, beside }) => add(app.macro({ needed }).guard(beside({ needed: true })), {}),
  'first of two macros': (app, add, { needed, easy, beside }) =>
    add(app.macro({ needed, easy }), beside({ needed: true, easy: true })),
  'second of two macros': (app, add, { needed, easy, beside }) =>
    add(app.macro({ needed, easy }), beside({ easy: true, needed: true })),
  'macro beside an option': (app, add, { needed, easy, beside }) =>
    add(app.macro({ needed }), beside({ ...easy(), needed: true })),
  'option beside a macro': (app, add, { needed, easy, beside }) =>
    add(app.macro({ easy }), beside({ easy: true, ...needed() })),
  'one macro twice': (app, add, { needed, easy, beside }) =>
    add(app.macro({ needs: (requirement: Requirement) => requirement() }).guard(beside({ needs: needed })), {
      needs: easy,
    }),
  'second plugin of one name': (app, add, { needed, easy, beside, guard }) => {
    const requires = (options: Options) =>
      new Elysia({ name: 'requires' }).use(guard()).guard(options).as('scoped') as AnyElysia;
    return add(app.use(requires(easy())).use(requires(beside(needed()))), {});
  },
};

const requirement = ['none', ...Object.keys(kinds)];
export const requirementAxes = { requirement, named: Object.keys(places), beside: Object.keys(neighbours) };

/** Adds a route that requires something in this way. */
export function addRequiring(
  app: AnyElysia,
  add: AddRoute,
  { requirement, named, beside }: Readonly<Record<keyof typeof requirementAxes, string>>,
  guard: () => AnyElysia,
): AnyElysia {
  const [kind, place, neighbour] = [kinds[requirement], places[named], neighbours[beside]];
  if (!kind || !place || !neighbour) return add(app, {});
  if (beside.includes('macro'))
    app.macro({ off: { beforeHandle() {} }, nothing: (_: boolean) => undefined as unknown as object });
  return place(app, add, { needed: () => kind(SCOPE), easy: () => kind(EASY), beside: neighbour, guard });
}
