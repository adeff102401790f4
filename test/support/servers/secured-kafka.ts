import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '../../../infra/local/free-port.ts';
import { type KafkaBroker, startKafkaBroker } from '../../../infra/local/kafka-broker.ts';

interface KafkaUser {
  username: string;
  password: string;
}

/** A broker that lets clients in by what they know. */
export interface SecuredKafka extends KafkaBroker {
  /** With TLS only, if started with a certificate. */
  tlsBrokers: string;
  /** With credentials only, if started with a certificate. */
  saslBrokers: string;
  /** Without credentials, with all rights. */
  adminBrokers: string;
}

interface SecuredKafkaOptions {
  /** Clients must sign in as one of these users, by SASL PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. */
  users: readonly KafkaUser[];
  /** Users may do only what an ACL allows. */
  acls?: boolean;
  /** Clients must use TLS. Key (PKCS #8) and certificate are PEM. */
  tls?: { key: string; cert: string };
}

export async function startSecuredKafka({ users, acls, tls }: SecuredKafkaOptions): Promise<SecuredKafka> {
  const [tlsPort, saslPort, ownPort] = (await freePorts(3)) as [number, number, number];
  const broker = await startKafkaBroker(async (port, folder) => {
    const pem = join(folder, 'server.pem');
    if (tls) await writeFile(pem, tls.key + tls.cert, { mode: 0o600 });
    const listeners = [
      { name: 'CLIENTS', protocol: tls ? 'SASL_SSL' : 'SASL_PLAINTEXT', at: at(port) },
      ...(tls ? [{ name: 'TLS', protocol: 'SSL', at: at(tlsPort) }] : []),
      ...(tls ? [{ name: 'SASL', protocol: 'SASL_PLAINTEXT', at: at(saslPort) }] : []),
      { name: 'PLAINTEXT', protocol: 'PLAINTEXT', at: at(ownPort) },
    ];
    const signedIn = listeners.filter(({ protocol }) => protocol.startsWith('SASL'));
    const settings = [
      tls ? `ssl.keystore.type=PEM\nssl.keystore.location=${pem}\n` : '',
      ...signedIn.map(({ name }) => signIn(name.toLowerCase(), users)),
      acls ? authorizer : '',
    ];
    return { listeners, settings: settings.join(''), format: users.flatMap(scramUser) };
  });
  return Object.assign(broker, {
    tlsBrokers: at(tlsPort),
    saslBrokers: at(saslPort),
    adminBrokers: at(ownPort),
  });
}

const at = (port: number): string => `127.0.0.1:${port}`;

// A client without credentials, on the broker's own listener, has all rights.
const authorizer = `
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`;

/** The option for formatting a broker's folder that adds a SCRAM user. */
const scramUser = ({ username, password }: KafkaUser): string[] =>
  [256, 512].flatMap((bits) => ['--add-scram', `SCRAM-SHA-${bits}=[name=${username},password=${password}]`]);

const signIn = (listener: string, users: readonly KafkaUser[]): string => `
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.${listener}.plain.sasl.jaas.config=${module}.plain.PlainLoginModule required ${users.map(plainUser).join(' ')};
listener.name.${listener}.scram-sha-256.sasl.jaas.config=${module}.scram.ScramLoginModule required;
listener.name.${listener}.scram-sha-512.sasl.jaas.config=${module}.scram.ScramLoginModule required;
`;

const module = 'org.apache.kafka.common.security';

const plainUser = ({ username, password }: KafkaUser): string => `user_${username}="${password}"`;
