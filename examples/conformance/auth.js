/** Login settings for the suite's authorization scenarios, by scenario name. */

/** The suite's authorization servers approve every login, so no person is needed. */
async function visit(url) {
  const { headers } = await fetch(url, { redirect: 'manual' });
  return headers.get('location');
}

/** URLs expected by the suite; nothing listens there. */
const redirectUrl = 'http://localhost:3000/callback';
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';

const special = {
  'auth/pre-registration': ({ client_id, client_secret }) => ({
    visit,
    redirectUrl,
    clientId: client_id,
    clientSecret: client_secret,
  }),
  'auth/client-credentials-basic': ({ client_id, client_secret }) => ({
    kind: 'client-credentials',
    clientId: client_id,
    clientSecret: client_secret,
  }),
  'auth/client-credentials-jwt': ({ client_id, private_key_pem, signing_algorithm }) => ({
    kind: 'client-credentials',
    clientId: client_id,
    privateKey: private_key_pem,
    algorithm: signing_algorithm,
  }),
};

/** Option `auth` of a connection. */
export function authOf(scenario, context) {
  return special[scenario]?.(context) ?? { visit, redirectUrl, clientMetadataUrl };
}
