import type { Issuer } from './form.ts';
import { auth0 } from './forms/auth0.ts';
import { authentik } from './forms/authentik.ts';
import { betterAuth } from './forms/better-auth.ts';
import { clerk } from './forms/clerk.ts';
import { cognito } from './forms/cognito.ts';
import { curity } from './forms/curity.ts';
import { duende } from './forms/duende.ts';
import { entra } from './forms/entra.ts';
import { fusionAuth } from './forms/fusion-auth.ts';
import { keycloak } from './forms/keycloak.ts';
import { kubernetes } from './forms/kubernetes.ts';
import { logto } from './forms/logto.ts';
import { okta } from './forms/okta.ts';
import { ory } from './forms/ory.ts';
import { pingFederate } from './forms/ping-federate.ts';
import { pingOne } from './forms/ping-one.ts';
import { supabase } from './forms/supabase.ts';
import { workOs } from './forms/work-os.ts';
import { zitadel } from './forms/zitadel.ts';

/** Every issuer of `docs/issuers.md`, the three commonest first, the others by name. */
export const ISSUERS: readonly Issuer[] = [
  auth0,
  entra,
  okta,
  cognito,
  authentik,
  betterAuth,
  clerk,
  curity,
  duende,
  fusionAuth,
  keycloak,
  kubernetes,
  logto,
  ory,
  pingFederate,
  pingOne,
  supabase,
  workOs,
  zitadel,
];
