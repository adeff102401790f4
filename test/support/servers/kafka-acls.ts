import { readFileSync } from 'node:fs';
import kafkajs, { type Admin } from 'kafkajs';
import { topicNames } from '../../../schemas/events/records.ts';

/** A line of infra/deploy/kafka-acls.sh: what a user may do with what. */
export interface GrantedLine {
  user: string;
  resource: 'facts' | 'rejected' | 'group' | 'transactions' | 'cluster';
  operations: string[];
}

export const kafkaAclsFile = new URL('../../../infra/deploy/kafka-acls.sh', import.meta.url);

export function grantedLines(): GrantedLine[] {
  const [, table] = /<<'ACLS'\n([\s\S]*)\nACLS\n/.exec(readFileSync(kafkaAclsFile, 'utf8'))!;
  return table!.split('\n').map((line) => {
    const [user, resource, ...operations] = line.split(' ') as [string, GrantedLine['resource'], ...string[]];
    return { user, resource, operations };
  });
}

export interface AclScope {
  topicPrefix: string;
  group: string;
}

/** The ACLs of the lines, as that script makes them. */
export async function grantInKafka(admin: Admin, lines: readonly GrantedLine[], scope: AclScope): Promise<void> {
  const acl = lines.flatMap((line) => aclsOf(line, scope));
  if (acl.length > 0) await admin.createAcls({ acl });
}

/** A user has no rights any more. */
export async function revokeInKafka(admin: Admin, user: string): Promise<void> {
  await admin.deleteAcls({
    filters: [
      {
        resourceType: kafkajs.AclResourceTypes.ANY,
        resourcePatternType: kafkajs.ResourcePatternTypes.ANY,
        operation: kafkajs.AclOperationTypes.ANY,
        permissionType: kafkajs.AclPermissionTypes.ANY,
        principal: `User:${user}`,
      },
    ],
  });
}

function aclsOf({ user, resource, operations }: GrantedLine, { topicPrefix, group }: AclScope) {
  const { TOPIC, GROUP, TRANSACTIONAL_ID, CLUSTER } = kafkajs.AclResourceTypes;
  const [resourceType, names] = {
    facts: [TOPIC, topicNames.map((name) => topicPrefix + name)] as const,
    rejected: [TOPIC, [`${topicPrefix}rejected`]] as const,
    group: [GROUP, [group]] as const,
    transactions: [TRANSACTIONAL_ID, [topicPrefix]] as const,
    cluster: [CLUSTER, ['kafka-cluster']] as const,
  }[resource];
  const { LITERAL, PREFIXED } = kafkajs.ResourcePatternTypes;
  return names.flatMap((resourceName) =>
    operations.map((operation) => ({
      resourceType,
      resourceName,
      resourcePatternType: resource === 'transactions' ? PREFIXED : LITERAL,
      principal: `User:${user}`,
      host: '*',
      // `DescribeConfigs` is DESCRIBE_CONFIGS there.
      operation:
        kafkajs.AclOperationTypes[
          operation.replace(/\B[A-Z]/, '_$&').toUpperCase() as keyof typeof kafkajs.AclOperationTypes
        ],
      permissionType: kafkajs.AclPermissionTypes.ALLOW,
    })),
  );
}
