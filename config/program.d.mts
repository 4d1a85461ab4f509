export declare function openProgram(isDev?: boolean): Promise<string>;
