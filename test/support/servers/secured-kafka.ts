import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../../../infra/local/free-port.ts';
import { startKafkaBroker } from '../../../infra/local/kafka-broker.ts';

interface SecuredKafkaOptions {
  /** Clients must sign in as one of these users, by SASL PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. */
  users: readonly { username: string; password: string }[];
  /** Users may do only what an ACL allows. */
  acls?: boolean;
  /** Clients must use TLS. Key (PKCS #8) and certificate are PEM. */
  tls?: { key: string; cert: string };
}

export type SecuredKafka = Awaited<ReturnType<typeof startSecuredKafka>>;

const at = (port: number): string => `127.0.0.1:${port}`;
const security = 'org.apache.kafka.common.security';

// A client without credentials, on the broker's own listener, has all rights.
const authorizer = `
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`;

/** A broker that lets clients in by what they know. */
export async function startSecuredKafka({ users, acls, tls }: SecuredKafkaOptions) {
  const [tlsPort, saslPort, ownPort] = (await freePorts(3)) as [number, number, number];
  const passwords = users.map(({ username, password }) => `user_${username}="${password}"`).join(' ');
  const signIn = (listener: string): string => `
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.${listener}.plain.sasl.jaas.config=${security}.plain.PlainLoginModule required ${passwords};
listener.name.${listener}.scram-sha-256.sasl.jaas.config=${security}.scram.ScramLoginModule required;
listener.name.${listener}.scram-sha-512.sasl.jaas.config=${security}.scram.ScramLoginModule required;
`;
  /** The options for formatting a broker's folder that add the users to those of SCRAM. */
  const format = users.flatMap(({ username, password }) =>
    [256, 512].flatMap((bits) => ['--add-scram', `SCRAM-SHA-${bits}=[name=${username},password=${password}]`]),
  );
  const broker = await startKafkaBroker(async (port, folder) => {
    const pem = join(folder, 'server.pem');
    if (tls) await writeFile(pem, tls.key + tls.cert, { mode: 0o600 });
    const listeners = [
      { name: 'CLIENTS', protocol: tls ? 'SASL_SSL' : 'SASL_PLAINTEXT', at: at(port) },
      ...(tls ? [{ name: 'TLS', protocol: 'SSL', at: at(tlsPort) }] : []),
      { name: 'SASL', protocol: 'SASL_PLAINTEXT', at: at(saslPort) },
      { name: 'PLAINTEXT', protocol: 'PLAINTEXT', at: at(ownPort) },
    ];
    const keystore = tls ? `ssl.keystore.type=PEM\nssl.keystore.location=${pem}\n` : '';
    return {
      listeners,
      settings: [keystore, signIn('clients'), signIn('sasl'), acls ? authorizer : ''].join(''),
      format,
    };
  });
  return Object.assign(broker, {
    /** With TLS only, if started with a certificate. */
    tlsBrokers: at(tlsPort),
    /** With credentials only. */
    saslBrokers: at(saslPort),
    /** Without credentials, with all rights. */
    adminBrokers: at(ownPort),
  });
}
